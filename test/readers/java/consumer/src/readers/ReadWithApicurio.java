package readers;

import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import java.util.Map;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Reads with Apicurio's deserializer, as it comes: ids of four bytes behind a zero byte are what it expects. */
public final class ReadWithApicurio {
  private ReadWithApicurio() {}

  public static void main(String[] args) throws Exception {
    // It speaks Apicurio's own interface, not Confluent's.
    String registry = TopicReading.env("SCHEMA_REGISTRY_URL").replace("/apis/ccompat/v7", "/apis/registry/v3");
    TopicReading.<GenericRecord>read(
        Map.of(
            "value.deserializer", AvroKafkaDeserializer.class.getName(),
            "apicurio.registry.url", registry),
        ConsumerRecord::value);
  }
}
