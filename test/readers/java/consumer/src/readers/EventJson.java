package readers;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;

/** An event as JSON; its message, which can have 50 MB, as size and SHA-256. */
final class EventJson {
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  private EventJson() {}

  static ObjectNode of(GenericRecord event) {
    ObjectNode json = (ObjectNode) nodeOf(event);
    Object source = event.get("source");
    if (source != null) json.set("source", Digest.of(source.toString().getBytes(StandardCharsets.UTF_8)));
    return json;
  }

  private static JsonNode nodeOf(Object value) {
    if (value == null) return NODES.nullNode();
    if (value instanceof GenericRecord record) {
      ObjectNode node = NODES.objectNode();
      for (Schema.Field field : record.getSchema().getFields())
        if (!field.name().equals("source")) node.set(field.name(), nodeOf(record.get(field.pos())));
        else node.putNull("source");
      return node;
    }
    if (value instanceof Iterable<?> items) {
      ArrayNode node = NODES.arrayNode();
      for (Object item : items) node.add(nodeOf(item));
      return node;
    }
    if (value instanceof Long number) return NODES.numberNode(number);
    if (value instanceof Instant instant) return NODES.numberNode(instant.toEpochMilli());
    if (value instanceof CharSequence text) return NODES.textNode(text.toString());
    throw new IllegalArgumentException("no event has a " + value.getClass());
  }
}
