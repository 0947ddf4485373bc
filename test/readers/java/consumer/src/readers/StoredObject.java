package readers;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.apache.avro.generic.GenericRecord;

/** The message of an event that refers to it. */
final class StoredObject {
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final String SCHEME = "s3://";

  private StoredObject() {}

  /** Fetches it, and verifies its size and its SHA-256. Null where the event holds its message itself. */
  static ObjectNode fetch(GenericRecord event) throws IOException, InterruptedException {
    if (!event.hasField("sourceRef") || event.get("sourceRef") == null) return null;
    GenericRecord reference = (GenericRecord) event.get("sourceRef");
    String uri = reference.get("uri").toString();
    URI address = URI.create(TopicReading.env("BODY_STORE_ENDPOINT") + "/" + uri.substring(SCHEME.length()));
    HttpResponse<byte[]> response =
        HTTP.send(HttpRequest.newBuilder(address).build(), HttpResponse.BodyHandlers.ofByteArray());
    ObjectNode digest = Digest.of(response.body());
    boolean isSame =
        digest.get("bytes").asLong() == (Long) reference.get("bytes")
            && digest.get("sha256").asText().equals(reference.get("sha256").toString());
    if (!isSame) throw new IOException(uri + " is not what was stored");
    return digest;
  }
}
