import type * as Testcontainers from 'testcontainers';
import type { KafkaOptions } from './kafka-cluster.ts';
import { formatArgs, serverArgs } from './kafka-jvm.ts';
import { kafkaProperties, planNodes } from './kafka-properties.ts';
import type { Ports } from './plan-ports.ts';

export const KAFKA_IMAGE = 'apache/kafka:4.3.1';
export const REGISTRY_IMAGE = 'apicurio/apicurio-registry:3.3.3';

/** Where the image keeps Kafka's jars. For Java, the star is its own; the shell mustn't see it. */
const CLASSPATH = '/opt/kafka/libs/*';
/** The image's user may write here. */
const FOLDER = '/tmp/hookline';
/** Where the image's registry listens. */
const REGISTRY_PORT = 8080;

type GenericContainer = typeof Testcontainers.GenericContainer;

export type KafkaContainerInput = KafkaOptions & { ports: Ports; advertisedHost: string };

/**
 * One container for all nodes: they share its loopback, so that their properties are those of plain JVMs. It listens
 * inside on the ports that are open outside, since a broker tells clients one address. Nothing is taken from the image
 * but Kafka's jars and `java`: its own start script and the variables that this reads have changed between versions.
 */
export function kafkaContainer(Container: GenericContainer, input: KafkaContainerInput) {
  const nodes = planNodes(input.ports);
  const fileOf = (id: number) => `${FOLDER}/node-${id}.properties`;
  const files = nodes.map((node) => ({
    target: fileOf(node.id),
    mode: 0o644,
    content: kafkaProperties({
      node,
      nodes,
      logDir: `/tmp/kafka-${node.id}`,
      listenHost: '0.0.0.0',
      advertisedHost: input.advertisedHost,
      overrides: input.properties,
    }),
  }));
  const formats = nodes.map(({ id }) => shell(['java', ...formatArgs(CLASSPATH, fileOf(id))]));
  const servers = nodes.map(({ id }) => shell(['java', ...serverArgs(CLASSPATH, fileOf(id), input.heapMb)]));
  const run = servers.length === 1 ? `exec ${servers[0]}` : `{ ${servers.join(' & ')} & wait; }`;
  return new Container(KAFKA_IMAGE)
    .withCopyContentToContainer(files)
    .withExposedPorts(...input.ports.kafka.map((port) => ({ container: port, host: port })))
    .withCommand(['sh', '-c', [...formats, run].join(' && ')]);
}

/** As the image starts by itself: in memory, without authentication. */
export const registryContainer = (Container: GenericContainer, ports: Ports) =>
  new Container(REGISTRY_IMAGE).withExposedPorts({ container: REGISTRY_PORT, host: ports.registry });

const shell = (words: readonly string[]) =>
  words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
