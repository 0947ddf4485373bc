package readers;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Size and SHA-256 of bytes. */
final class Digest {
  private Digest() {}

  static ObjectNode of(byte[] bytes) {
    try {
      byte[] hash = MessageDigest.getInstance("SHA-256").digest(bytes);
      ObjectNode digest = JsonNodeFactory.instance.objectNode();
      digest.put("bytes", bytes.length);
      digest.put("sha256", HexFormat.of().formatHex(hash));
      return digest;
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
  }
}
