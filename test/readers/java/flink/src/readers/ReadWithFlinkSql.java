package readers;

import java.util.UUID;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/**
 * Flink SQL on a cluster of one process: each topic is a table with the columns of the newest schema, and its rows go to files
 * of JSON in the folder that is the first argument.
 */
public final class ReadWithFlinkSql {
  private static final String ENVELOPE =
      """
        `eventId` STRING,
        `type` STRING,
        `entityId` STRING,
        `subscription` STRING,
        `receivedAt` TIMESTAMP(3),
        `source` STRING,
        `sourceRef` ROW<`uri` STRING, `bytes` BIGINT, `sha256` STRING, `omitted` ARRAY<STRING>>,
      """;

  private static final String PAYMENT_STATUS =
      """
        `status` STRING,
        `pacs002` ROW<`FIToFIPmtStsRpt` ROW<
          `GrpHdr` ROW<`MsgId` STRING, `CreDtTm` STRING>,
          `TxInfAndSts` ARRAY<ROW<
            `OrgnlGrpInf` ROW<`OrgnlMsgId` STRING, `OrgnlMsgNmId` STRING>,
            `OrgnlInstrId` STRING,
            `OrgnlUETR` STRING,
            `TxSts` STRING,
            `InstgAgt` ROW<`FinInstnId` ROW<`BICFI` STRING>>,
            `InstdAgt` ROW<`FinInstnId` ROW<`BICFI` STRING>>
          >>
        >>,
      """;

  private static final String REASON = "  `reason` STRING,\n";

  private ReadWithFlinkSql() {}

  public static void main(String[] args) throws Exception {
    TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.inBatchMode());
    for (String topic : env("TOPICS").split(",")) copy(tables, topic, args[0]);
  }

  private static void copy(TableEnvironment tables, String topic, String folder) throws Exception {
    String columns = ENVELOPE + (topic.endsWith("payment-status") ? PAYMENT_STATUS : "") + REASON;
    String name = UUID.randomUUID().toString();
    tables.executeSql(
        """
        CREATE TABLE `from-%s` (
          `key` STRING,
          %s
          `partition` INT METADATA VIRTUAL,
          `offset` BIGINT METADATA VIRTUAL
        ) WITH (
          'connector' = 'kafka',
          'topic' = '%s',
          'properties.bootstrap.servers' = '%s',
          'scan.startup.mode' = 'earliest-offset',
          'scan.bounded.mode' = 'latest-offset',
          'key.format' = 'raw',
          'key.fields' = 'key',
          'value.fields-include' = 'EXCEPT_KEY',
          'value.format' = 'avro-confluent',
          'value.avro-confluent.url' = '%s'
        )
        """
            .formatted(name, columns, topic, env("KAFKA_BROKERS"), env("SCHEMA_REGISTRY_URL")));
    tables.executeSql(
        """
        CREATE TABLE `to-%s` (
          `topic` STRING,
          `key` STRING,
          %s
          `partition` INT,
          `offset` BIGINT
        ) WITH (
          'connector' = 'filesystem',
          'path' = '%s/%s',
          'format' = 'json'
        )
        """
            .formatted(name, columns, folder, topic));
    tables
        .executeSql("INSERT INTO `to-%1$s` SELECT '%2$s', * FROM `from-%1$s`".formatted(name, topic))
        .await();
  }

  private static String env(String name) {
    String value = System.getenv(name);
    if (value == null) throw new IllegalStateException(name + " is not set");
    return value;
  }
}
