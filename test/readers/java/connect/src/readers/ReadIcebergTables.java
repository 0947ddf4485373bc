package readers;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.OffsetDateTime;
import java.util.HexFormat;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;

/**
 * Waits until Iceberg tables hold the rows that are expected, and prints each row as a line of JSON. Arguments: the warehouse's
 * folder, and TABLE=ROWS for each table.
 */
public final class ReadIcebergTables {
  private static final ObjectMapper JSON = new ObjectMapper().disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
  private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
  private static final long WAIT_MS = 1_000;
  private static final long DEADLINE_MS = 300_000;

  private ReadIcebergTables() {}

  public static void main(String[] args) throws Exception {
    try (HadoopCatalog catalog = new HadoopCatalog(new Configuration(), args[0])) {
      for (String argument : List.of(args).subList(1, args.length)) {
        String[] tableAndRows = argument.split("=");
        print(tableAndRows[0], awaitRows(catalog, tableAndRows[0], Long.parseLong(tableAndRows[1])));
      }
    }
    OUT.flush();
  }

  private static Table awaitRows(HadoopCatalog catalog, String name, long rows) throws InterruptedException {
    TableIdentifier id = TableIdentifier.parse(name);
    long end = System.currentTimeMillis() + DEADLINE_MS;
    for (; System.currentTimeMillis() < end; Thread.sleep(WAIT_MS)) {
      if (!catalog.tableExists(id)) continue;
      Table table = catalog.loadTable(id);
      if (table.currentSnapshot() == null) continue;
      long found = Long.parseLong(table.currentSnapshot().summary().get("total-records"));
      if (found >= rows) return table;
    }
    throw new IllegalStateException(name + " does not have " + rows + " rows in time");
  }

  private static void print(String name, Table table) throws Exception {
    try (CloseableIterable<Record> rows = IcebergGenerics.read(table).build()) {
      for (Record row : rows) {
        ObjectNode line = NODES.objectNode();
        line.put("table", name);
        line.set("value", event(row));
        JSON.writeValue(OUT, line);
        OUT.println();
      }
    }
  }

  /** The message, which can have 50 MB, as its size and SHA-256. */
  private static ObjectNode event(Record row) throws Exception {
    ObjectNode event = (ObjectNode) nodeOf(row);
    Object source = row.getField("source");
    if (source == null) return event;
    byte[] bytes = source.toString().getBytes(StandardCharsets.UTF_8);
    ObjectNode digest = NODES.objectNode();
    digest.put("bytes", bytes.length);
    digest.put("sha256", HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes)));
    event.set("source", digest);
    return event;
  }

  private static JsonNode nodeOf(Object value) {
    if (value == null) return NODES.nullNode();
    if (value instanceof Record record) {
      ObjectNode node = NODES.objectNode();
      for (Types.NestedField column : record.struct().fields()) {
        boolean isMessage = column.name().equals("source");
        node.set(column.name(), isMessage ? NODES.nullNode() : nodeOf(record.getField(column.name())));
      }
      return node;
    }
    if (value instanceof List<?> items) {
      ArrayNode node = NODES.arrayNode();
      for (Object item : items) node.add(nodeOf(item));
      return node;
    }
    if (value instanceof OffsetDateTime time) return NODES.numberNode(time.toInstant().toEpochMilli());
    if (value instanceof Long number) return NODES.numberNode(number);
    return NODES.textNode(value.toString());
  }
}
