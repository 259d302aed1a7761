import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * The rule by which a number makes a record, always the same one: to write millions of records, and
 * to check them without having kept them.
 *
 * <p>With {@code keys} = 0 records have no key and go round the partitions. Else the key's number is
 * a hash of the record's, and a key stays in one partition. Values are JSON of {@code value_size}
 * bytes that hardly compress, or, every {@code tombstone_every} records, none. The first of {@code
 * headers} headers is {@code id}. Timestamps start at {@code first_timestamp}; 100 records share one.
 */
final class Numbered {
    /** The value without its padding: {"id":"…16 hex digits…","pad":""}. */
    static final int SMALLEST_VALUE = 34;

    private static final long GOLDEN = 0x9e3779b97f4a7c15L;
    private static final byte[] DIGITS = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] LETTERS =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] BEGIN = "{\"id\":\"".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] MIDDLE = "\",\"pad\":\"".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] END = "\"}".getBytes(StandardCharsets.US_ASCII);

    final int partitions;
    final long first;
    final long count;
    private final int valueSize;
    private final long keys;
    private final int headers;
    private final long tombstoneEvery;
    private final long seed;
    private final long firstTimestamp;

    Numbered(JsonNode json) {
        partitions = json.get("partitions").asInt();
        first = json.path("first").asLong();
        count = json.get("count").asLong();
        valueSize = json.get("value_size").asInt();
        keys = json.path("keys").asLong();
        headers = json.path("headers").asInt();
        tombstoneEvery = json.path("tombstone_every").asLong();
        seed = json.path("seed").asLong();
        firstTimestamp = json.get("first_timestamp").asLong();
        if (valueSize < SMALLEST_VALUE) {
            throw new IllegalArgumentException("`value_size` must be at least " + SMALLEST_VALUE);
        }
    }

    /** SplitMix64: its state grows by {@link #GOLDEN}, and this makes the output. */
    private static long mix(long z) {
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }

    private long random(long id, long stream) {
        return mix(seed + mix(id * GOLDEN + stream));
    }

    private long keyNumber(long id) {
        return Long.remainderUnsigned(random(id, 1), keys);
    }

    int partition(long id) {
        return (int) ((keys == 0 ? id : keyNumber(id)) % partitions);
    }

    byte[] key(long id) {
        return keys == 0 ? null : ("key-" + keyNumber(id)).getBytes(StandardCharsets.US_ASCII);
    }

    byte[] value(long id) {
        if (tombstoneEvery > 0 && id % tombstoneEvery == tombstoneEvery - 1) {
            return null;
        }
        byte[] value = new byte[valueSize];
        System.arraycopy(BEGIN, 0, value, 0, BEGIN.length);
        int at = BEGIN.length;
        for (int shift = 60; shift >= 0; shift -= 4) {
            value[at++] = DIGITS[(int) (id >>> shift) & 15];
        }
        System.arraycopy(MIDDLE, 0, value, at, MIDDLE.length);
        at += MIDDLE.length;
        int end = valueSize - END.length;
        long state = random(id, 2);
        while (at < end) {
            state += GOLDEN;
            long bits = mix(state);
            for (int letters = Math.min(10, end - at); letters > 0; letters--) {
                value[at++] = LETTERS[(int) bits & 63];
                bits >>>= 6;
            }
        }
        System.arraycopy(END, 0, value, end, END.length);
        return value;
    }

    Header[] headers(long id) {
        Header[] made = new Header[headers];
        for (int i = 0; i < headers; i++) {
            String text = i == 0 ? Long.toString(id) : Long.toHexString(random(id, -i));
            made[i] = new RecordHeader(i == 0 ? "id" : "header-" + i, text.getBytes(StandardCharsets.US_ASCII));
        }
        return made;
    }

    long timestamp(long id) {
        return firstTimestamp + (id - first) / 100;
    }

    /** The number of a record made by this rule, from its value, else its first header; or −1. */
    static long idOf(byte[] value, Header[] headers) {
        try {
            if (value != null && value.length >= SMALLEST_VALUE) {
                return Long.parseUnsignedLong(new String(value, BEGIN.length, 16, StandardCharsets.US_ASCII), 16);
            }
            if (headers.length > 0 && headers[0].value() != null) {
                return Long.parseLong(new String(headers[0].value(), StandardCharsets.US_ASCII));
            }
        } catch (NumberFormatException notNumbered) {
            // not of this rule
        }
        return -1;
    }
}
