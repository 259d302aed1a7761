import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads topics from their beginning to where they end at the time of the request. */
final class Readers {
    static final Map<String, Oracle.Operation> OPERATIONS = Map.of(
            "read", Readers::records,
            "digest", Readers::digests,
            "ids", Readers::ids,
            "check_numbered", Readers::checkNumbered);

    private interface Sink {
        void take(ConsumerRecord<byte[], byte[]> record) throws Exception;
    }

    private Readers() {}

    /**
     * Every visible record of the topic, or of one {@code partition}; with {@code committed} up to the
     * last stable offset, else up to the high watermark; {@code from} and {@code until} narrow it.
     * Without a group: nothing is left on the cluster. Answers how many partitions there are.
     */
    private static int read(Oracle.Request request, Sink sink) throws Exception {
        String topic = request.text("topic");
        boolean committed = request.flag("committed");
        List<Map<String, Long>> offsets = Admins.offsets(request, List.of(topic)).get(topic);
        Map<TopicPartition, Long> ends = new HashMap<>();
        Map<TopicPartition, Long> begins = new HashMap<>();
        for (int p = 0; p < offsets.size(); p++) {
            if (request.number("partition", p) == p) {
                TopicPartition partition = new TopicPartition(topic, p);
                long end = offsets.get(p).get(committed ? "stable" : "latest");
                begins.put(partition, Math.max(offsets.get(p).get("earliest"), request.number("from", 0)));
                ends.put(partition, Math.min(end, request.number("until", Long.MAX_VALUE)));
            }
        }
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", request.bootstrap(),
                "isolation.level", committed ? "read_committed" : "read_uncommitted",
                "auto.offset.reset", "none",
                "enable.auto.commit", false,
                "allow.auto.create.topics", false,
                "fetch.max.wait.ms", 10, // also what a close waits for
                "max.poll.records", 5000,
                "max.partition.fetch.bytes", 4_194_304,
                "reconnect.backoff.max.ms", 200);
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(ends.keySet());
            begins.forEach(consumer::seek);
            Map<TopicPartition, Long> open = new HashMap<>(ends);
            open.entrySet().removeIf(end -> begins.get(end.getKey()) >= end.getValue());
            long deadline = System.nanoTime() + request.timeout() * 1_000_000L;
            while (!open.isEmpty()) {
                var batch = consumer.poll(Duration.ofMillis(100));
                for (var record : batch) {
                    if (record.offset() < ends.get(new TopicPartition(topic, record.partition()))) {
                        sink.take(record);
                    }
                }
                // The position also passes markers and aborted records, which are never handed out.
                boolean moved = open.entrySet().removeIf(end -> consumer.position(end.getKey()) >= end.getValue());
                if (moved) {
                    List<TopicPartition> done = new ArrayList<>(consumer.assignment());
                    done.removeAll(open.keySet());
                    consumer.pause(done);
                }
                if (moved || !batch.isEmpty()) {
                    deadline = System.nanoTime() + request.timeout() * 1_000_000L;
                } else if (System.nanoTime() > deadline) {
                    throw new TimeoutException("nothing comes from " + open.keySet());
                }
            }
        }
        return offsets.size();
    }

    /** The name as it is on the wire: {@link Header#key} would replace what is not UTF-8. */
    private static byte[] name(Header header) throws ReflectiveOperationException {
        ByteBuffer raw = (ByteBuffer) KEY_BUFFER.get(header);
        if (raw == null) {
            return header.key().getBytes(StandardCharsets.UTF_8);
        }
        byte[] name = new byte[raw.remaining()];
        raw.duplicate().get(name);
        return name;
    }

    private static final Field KEY_BUFFER = keyBuffer();

    private static Field keyBuffer() {
        try {
            Field field = RecordHeader.class.getDeclaredField("keyBuffer");
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static Object records(Oracle.Request request) throws Exception {
        List<Object> answer = new ArrayList<>();
        read(request, record -> {
            List<List<String>> headers = new ArrayList<>();
            for (Header header : record.headers()) {
                headers.add(Arrays.asList(Hex.of(name(header)), Hex.of(header.value())));
            }
            Map<String, Object> one = new TreeMap<>();
            one.put("p", record.partition());
            one.put("o", record.offset());
            one.put("t", record.timestamp());
            one.put("tt", record.timestampType().name);
            one.put("k", Hex.of(record.key()));
            one.put("v", Hex.of(record.value()));
            one.put("h", headers);
            answer.add(one);
        });
        return answer;
    }

    private static final class Digest {
        final MessageDigest sha = sha();
        final ByteBuffer number = ByteBuffer.allocate(8);
        long count;
        long tombstones;
        long first = -1;
        long last = -1;

        private static MessageDigest sha() {
            try {
                return MessageDigest.getInstance("SHA-256");
            } catch (java.security.NoSuchAlgorithmException e) {
                throw new IllegalStateException(e);
            }
        }

        void number(int width, long value) {
            sha.update(number.clear().putLong(value).array(), 8 - width, width);
        }

        void framed(byte[] bytes) {
            number(4, bytes == null ? -1 : bytes.length);
            if (bytes != null) {
                sha.update(bytes);
            }
        }

        /** All that a copy keeps: key, value, headers, timestamp, each with its length (−1 for none). */
        void take(ConsumerRecord<byte[], byte[]> record) throws ReflectiveOperationException {
            framed(record.key());
            framed(record.value());
            Header[] headers = record.headers().toArray();
            number(4, headers.length);
            for (Header header : headers) {
                framed(name(header));
                framed(header.value());
            }
            number(8, record.timestamp());
            count++;
            tombstones += record.value() == null ? 1 : 0;
            first = first < 0 ? record.offset() : first;
            last = record.offset();
        }
    }

    /** For each partition, in order, also those that are empty. */
    private static Object digests(Oracle.Request request) throws Exception {
        Map<Integer, Digest> digests = new HashMap<>();
        int partitions = read(request,
                record -> digests.computeIfAbsent(record.partition(), p -> new Digest()).take(record));
        List<Object> answer = new ArrayList<>();
        for (int p = 0; p < partitions; p++) {
            Digest digest = digests.getOrDefault(p, new Digest());
            answer.add(new TreeMap<>(Map.of("partition", p, "count", digest.count, "tombstones", digest.tombstones,
                    "first_offset", digest.first, "last_offset", digest.last,
                    "sha256", Hex.of(digest.sha.digest()))));
        }
        return answer;
    }

    /** The numbers of numbered records, in order: for each partition runs of [first, step, count]. */
    private static Object ids(Oracle.Request request) throws Exception {
        Map<Integer, List<long[]>> runs = new HashMap<>();
        int partitions = read(request, record -> {
            long id = Numbered.idOf(record.value(), record.headers().toArray());
            List<long[]> list = runs.computeIfAbsent(record.partition(), p -> new ArrayList<>());
            long[] run = list.isEmpty() ? null : list.get(list.size() - 1);
            if (run != null && run[2] == 1) {
                run[1] = id - run[0];
                run[2] = 2;
            } else if (run != null && id == run[0] + run[1] * run[2]) {
                run[2]++;
            } else {
                list.add(new long[] {id, 0, 1});
            }
        });
        List<Object> answer = new ArrayList<>();
        for (int p = 0; p < partitions; p++) {
            answer.add(runs.getOrDefault(p, List.of()));
        }
        return answer;
    }

    /** Whether a topic holds exactly the records of a rule, each once, in order; else what not. */
    private static Object checkNumbered(Oracle.Request request) throws Exception {
        NumberedCheck check = new NumberedCheck(new Numbered(request.json()));
        read(request, check::take);
        return check.differences();
    }
}
