package readers;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.Schema;

/** The schemas that records were written with, by id, each asked for once. */
final class RegistryClient {
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private final Map<Integer, Schema> schemas = new HashMap<>();

  Schema schema(int id) throws IOException {
    Schema known = schemas.get(id);
    if (known != null) return known;
    URI address = URI.create(TopicReading.env("SCHEMA_REGISTRY_URL") + "/schemas/ids/" + id);
    try {
      HttpResponse<String> response =
          HTTP.send(HttpRequest.newBuilder(address).build(), HttpResponse.BodyHandlers.ofString());
      if (response.statusCode() != 200) throw new IOException(address + ": " + response.body());
      String text = new ObjectMapper().readTree(response.body()).get("schema").asText();
      Schema schema = new Schema.Parser().parse(text);
      schemas.put(id, schema);
      return schema;
    } catch (InterruptedException error) {
      throw new IOException(error);
    }
  }
}
