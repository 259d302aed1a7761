import com.fasterxml.jackson.databind.JsonNode;
import java.util.HexFormat;

/** Bytes in JSON: hex, or null. */
final class Hex {
    private static final HexFormat FORMAT = HexFormat.of();

    private Hex() {}

    static String of(byte[] bytes) {
        return bytes == null ? null : FORMAT.formatHex(bytes);
    }

    static byte[] bytes(JsonNode hex) {
        return hex == null || hex.isNull() ? null : FORMAT.parseHex(hex.asText());
    }
}
