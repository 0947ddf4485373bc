package readers;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.avro.AvroTypeException;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Reads topics with Kafka's consumer from their beginning to their present end, and prints each record as a line of JSON. */
final class TopicReading {
  private static final ObjectMapper JSON = new ObjectMapper().disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
  private static final PrintStream OUT =
      new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, StandardCharsets.UTF_8);

  /** Makes a generic record of a consumed one. */
  interface Decoder<V> {
    GenericRecord decode(ConsumerRecord<String, V> consumed) throws IOException;
  }

  private TopicReading() {}

  /** @param deserializer settings of the value's deserializer; all others of the consumer keep their defaults */
  static <V> void read(Map<String, Object> deserializer, Decoder<V> decoder) throws Exception {
    Map<String, Object> settings = new HashMap<>(deserializer);
    settings.put("bootstrap.servers", env("KAFKA_BROKERS"));
    settings.put("group.id", UUID.randomUUID().toString());
    settings.put("key.deserializer", StringDeserializer.class.getName());
    // Not a limit: a new group would begin at the end.
    settings.put("auto.offset.reset", "earliest");
    List<String> topics = List.of(env("TOPICS").split(","));
    try (KafkaConsumer<String, V> consumer = new KafkaConsumer<>(settings)) {
      long left = countRecords(consumer, topics);
      consumer.subscribe(topics);
      while (left > 0) {
        for (ConsumerRecord<String, V> consumed : consumer.poll(Duration.ofSeconds(1))) {
          print(consumed, decoder);
          left--;
        }
      }
    }
    OUT.flush();
  }

  private static long countRecords(KafkaConsumer<?, ?> consumer, List<String> topics) {
    long count = 0;
    for (String topic : topics) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream().map(TopicReading::partitionOf).toList();
      for (long end : consumer.endOffsets(partitions).values()) count += end;
      for (long beginning : consumer.beginningOffsets(partitions).values()) count -= beginning;
    }
    return count;
  }

  private static TopicPartition partitionOf(PartitionInfo info) {
    return new TopicPartition(info.topic(), info.partition());
  }

  private static <V> void print(ConsumerRecord<String, V> consumed, Decoder<V> decoder) throws Exception {
    ObjectNode line = JSON.createObjectNode();
    line.put("topic", consumed.topic());
    line.put("partition", consumed.partition());
    line.put("offset", consumed.offset());
    line.put("key", consumed.key());
    try {
      GenericRecord event = decoder.decode(consumed);
      line.set("value", EventJson.of(event));
      line.set("object", StoredObject.fetch(event));
    } catch (AvroTypeException error) {
      // Writer's and reader's schema do not fit together: the consumer of 0.x is expected to meet this.
      line.putNull("value");
      line.put("error", error.getMessage());
    }
    JSON.writeValue(OUT, line);
    OUT.println();
  }

  static String env(String name) {
    String value = System.getenv(name);
    if (value == null) throw new IllegalStateException(name + " is not set");
    return value;
  }
}
