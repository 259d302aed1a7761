import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * A copy of numbered records with faults: what is written in the place of a record. Kafka cannot change
 * or remove single records; a copy can be made without them.
 */
final class Tampered {
    /** Of records that are not by the rule: long before all others. */
    private static final long LONG_AGO = 1;

    private final String topic;
    private final Numbered rule;
    private final Map<Long, JsonNode> faults = new HashMap<>();

    Tampered(String topic, Numbered rule, Iterable<JsonNode> faults) {
        this.topic = topic;
        this.rule = rule;
        for (JsonNode fault : faults) {
            this.faults.put(fault.get("id").asLong(), fault);
        }
    }

    /** The records that are written when it is this number's turn. */
    List<ProducerRecord<byte[], byte[]>> records(long id) {
        JsonNode fault = faults.get(id);
        int at = rule.partition(id);
        long time = rule.timestamp(id);
        byte[] key = rule.key(id);
        byte[] value = rule.value(id);
        Header[] headers = rule.headers(id);
        ProducerRecord<byte[], byte[]> right = record(at, time, key, value, headers);
        return switch (fault == null ? "none" : fault.get("how").asText()) {
            case "none" -> List.of(right);
            case "drop" -> List.of();
            case "double" -> List.of(right, record(at, time, key, value, headers));
            case "value" -> List.of(record(at, time, key, bytes("changed"), headers));
            case "headers" -> List.of(record(at, time, key, value, more(headers)));
            case "timestamp" -> List.of(record(at, time + 1, key, value, headers));
            case "move" -> List.of(record((at + 1) % rule.partitions, time, key, value, headers));
            case "swap" -> {
                long other = fault.get("with").asLong();
                yield List.of(record(at, rule.timestamp(other), rule.key(other), rule.value(other),
                        rule.headers(other)));
            }
            case "insert" -> List.of(right, record(at, LONG_AGO, key, bytes("inserted")));
            case "stranger" -> List.of(right, record(at, LONG_AGO, bytes("stranger"), bytes("inserted")));
            default -> throw new IllegalArgumentException("there is no fault " + fault);
        };
    }

    private ProducerRecord<byte[], byte[]> record(int at, long time, byte[] key, byte[] value, Header... headers) {
        return new ProducerRecord<>(topic, at, time, key, value, List.of(headers));
    }

    private static Header[] more(Header[] headers) {
        Header[] more = Arrays.copyOf(headers, headers.length + 1);
        more[headers.length] = new RecordHeader("more", bytes("header"));
        return more;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
