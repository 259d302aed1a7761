import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/** Compares what is read with what {@link Numbered} makes. */
final class NumberedCheck {
    /** Enough to see the pattern. */
    private static final int SHOWN = 5;

    private final Numbered rule;
    private final BitSet seen = new BitSet();
    private final Map<Integer, Long> lastOfPartition = new HashMap<>();
    private final List<String> differences = new ArrayList<>();
    private long wrong;

    NumberedCheck(Numbered rule) {
        this.rule = rule;
    }

    void take(ConsumerRecord<byte[], byte[]> record) {
        Header[] headers = record.headers().toArray();
        long id = Numbered.idOf(record.value(), headers);
        if (id < rule.first || id >= rule.first + rule.count) {
            wrong(record, id, "is none of the rule's");
            return;
        }
        long last = lastOfPartition.getOrDefault(record.partition(), -1L);
        if (seen.get((int) (id - rule.first))) {
            wrong(record, id, "was there before");
        } else if (id < last) {
            wrong(record, id, "comes after record " + last);
        }
        seen.set((int) (id - rule.first));
        lastOfPartition.put(record.partition(), Math.max(id, last));
        if (record.partition() != rule.partition(id)) {
            wrong(record, id, "belongs to partition " + rule.partition(id));
        }
        if (!Arrays.equals(record.key(), rule.key(id))) {
            wrong(record, id, "has another key");
        }
        if (!Arrays.equals(record.value(), rule.value(id))) {
            wrong(record, id, "has another value");
        }
        if (!Arrays.equals(headers, rule.headers(id))) {
            wrong(record, id, "has other headers");
        }
        if (record.timestamp() != rule.timestamp(id)) {
            wrong(record, id, "has the timestamp " + record.timestamp() + " instead of " + rule.timestamp(id));
        }
    }

    private void wrong(ConsumerRecord<byte[], byte[]> record, long id, String what) {
        wrong++;
        if (differences.size() < SHOWN) {
            differences.add("record " + id + " at partition " + record.partition() + ", offset "
                    + record.offset() + ", " + what);
        }
    }

    /** Empty if all is as it must be. */
    List<String> differences() {
        long missing = rule.count - seen.cardinality();
        List<String> all = new ArrayList<>(differences);
        if (wrong > SHOWN) {
            all.add("and " + (wrong - SHOWN) + " more");
        }
        if (missing > 0) {
            all.add(missing + " records are missing, the first of them is " + (rule.first + seen.nextClearBit(0)));
        }
        return all;
    }
}
