package readers;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads with Avro's own GenericDatumReader and the writer's schema from the registry. With a schema file as argument it reads
 * as a consumer that keeps that schema: topics of other types than the file's are not for it.
 */
public final class ReadWithAvro {
  private static final int HEADER_BYTES = 5;

  private ReadWithAvro() {}

  public static void main(String[] args) throws Exception {
    RegistryClient registry = new RegistryClient();
    Schema own = args.length > 0 ? new Schema.Parser().parse(new File(args[0])) : null;
    TopicReading.<byte[]>read(
        Map.of("value.deserializer", ByteArrayDeserializer.class.getName()),
        consumed -> decode(registry, own, consumed.value()));
  }

  private static GenericRecord decode(RegistryClient registry, Schema own, byte[] value) throws IOException {
    if (value[0] != 0) throw new IOException("not in the registry's wire format");
    Schema writer = registry.schema(ByteBuffer.wrap(value, 1, 4).getInt());
    GenericDatumReader<GenericRecord> reader = new GenericDatumReader<>(writer, own == null ? writer : own);
    BinaryDecoder decoder =
        DecoderFactory.get().binaryDecoder(value, HEADER_BYTES, value.length - HEADER_BYTES, null);
    GenericRecord event = reader.read(null, decoder);
    if (!decoder.isEnd()) throw new IOException("bytes are left over");
    return event;
  }
}
