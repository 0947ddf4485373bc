/** The readers of docs/readers.md: `test/docs/readers.test.ts` holds its tables against this list. */

/**
 * What a reader sees of a record: the fields of the schema that it was written with; the columns of one table for all
 * versions, where a field that a version lacks is null; or the bytes of the value.
 */
export type View = 'fields' | 'columns' | 'bytes';

export type Reader = {
  /** Its first column in the table. */
  readonly name: string;
  readonly view: View;
  /** Whether it resolves references: fetches the object, and verifies its size and SHA-256. */
  readonly fetches: boolean;
  /** Settings without which it would not read all of it, as they stand in its sources. */
  readonly settings?: readonly string[];
  /** Where these are. */
  readonly sources: string;
  /** Its libraries, each with the file that pins its version. */
  readonly libraries: readonly { readonly name: string; readonly version: string; readonly file: string }[];
};

const JAVA = 'test/readers/java';
const CONSUMER = `${JAVA}/consumer/pom.xml`;
const FLINK = `${JAVA}/flink/pom.xml`;
const CONNECT = `${JAVA}/connect/pom.xml`;
const PYTHON = 'test/readers/python/requirements.txt';
const GO = 'test/readers/go/go.mod';
const NODE = 'package.json';

const library = (name: string, version: string, file: string) => ({ name, version, file });
const KAFKA_CLIENTS = library('kafka-clients', '4.3.1', CONSUMER);

export const APICURIO: Reader = {
  name: "Java, Apicurio's deserializer",
  view: 'fields',
  fetches: true,
  sources: `${JAVA}/consumer/src/readers/ReadWithApicurio.java`,
  libraries: [KAFKA_CLIENTS, library('apicurio-registry-avro-serde-kafka', '3.1.7', CONSUMER)],
};

export const AVRO_JAVA: Reader = {
  name: "Java, Avro's own reader",
  view: 'fields',
  fetches: true,
  sources: `${JAVA}/consumer/src/readers/ReadWithAvro.java`,
  libraries: [KAFKA_CLIENTS, library('avro', '1.12.1', CONSUMER)],
};

export const CONFLUENT_PYTHON: Reader = {
  name: 'Python, confluent-kafka',
  view: 'fields',
  fetches: true,
  sources: 'test/readers/python/read_with_confluent.py',
  libraries: [library('confluent-kafka', '2.16.1', PYTHON)],
};

export const FASTAVRO: Reader = {
  name: 'Python, fastavro',
  view: 'fields',
  fetches: true,
  sources: 'test/readers/python/read_with_fastavro.py',
  libraries: [library('confluent-kafka', '2.16.1', PYTHON), library('fastavro', '1.13.1', PYTHON)],
};

export const FRANZ_GO: Reader = {
  name: 'Go, franz-go with hamba/avro',
  view: 'fields',
  fetches: true,
  settings: ['MaxByteSliceSize'],
  sources: 'test/readers/go/main.go',
  libraries: [
    library('github.com/twmb/franz-go', 'v1.22.3', GO),
    library('github.com/hamba/avro/v2', 'v2.31.0', GO),
  ],
};

export const KAFKAJS: Reader = {
  name: 'Node, kafkajs with the registry client',
  view: 'fields',
  fetches: true,
  sources: 'test/readers/node/read.ts',
  libraries: [
    library('kafkajs', '2.2.4', NODE),
    library('@kafkajs/confluent-schema-registry', '4.1.0', NODE),
  ],
};

export const KCAT: Reader = {
  name: 'kcat (librdkafka)',
  view: 'bytes',
  fetches: false,
  sources: 'test/readers/programs/kcat.ts',
  libraries: [],
};

export const FLINK_SQL: Reader = {
  name: 'Flink SQL, avro-confluent',
  view: 'columns',
  fetches: false,
  sources: `${JAVA}/flink/src/readers/ReadWithFlinkSql.java`,
  libraries: [
    library('flink-sql-avro-confluent-registry', '2.2.0', FLINK),
    library('flink-sql-connector-kafka', '5.0.0-2.2', FLINK),
  ],
};

export const ICEBERG: Reader = {
  name: "Kafka Connect, Iceberg's sink",
  view: 'columns',
  fetches: false,
  settings: [
    'apicurio.registry.as-confluent',
    'apicurio.registry.use-id',
    'iceberg.tables.auto-create-enabled',
    'iceberg.tables.evolve-schema-enabled',
    'iceberg.tables.schema-force-optional',
  ],
  sources: 'test/readers/programs/iceberg.ts',
  libraries: [
    library('connect-runtime', '4.3.1', CONNECT),
    library('iceberg-kafka-connect', '1.11.0', CONNECT),
    library('apicurio-registry-utils-converter', '2.6.13.Final', CONNECT),
  ],
};

export const READERS: readonly Reader[] = [
  ...[APICURIO, AVRO_JAVA, CONFLUENT_PYTHON, FASTAVRO, FRANZ_GO, KAFKAJS, KCAT, FLINK_SQL, ICEBERG],
];
