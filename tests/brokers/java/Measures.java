import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What benchmarks need: many topics at once, how far their logs are, and how long a record is on its way. */
final class Measures {
    static final Map<String, Oracle.Operation> OPERATIONS = Map.of(
            "create_topics", Measures::createTopics,
            "delete_topics", Measures::deleteTopics,
            "fill", Measures::fill,
            "ends", Measures::ends,
            "count", Measures::count,
            "log_sizes", Measures::logSizes,
            "next_visible", Measures::nextVisible,
            "latency", Measures::latency);

    private Measures() {}

    private static List<String> topics(Oracle.Request request) {
        List<String> topics = new ArrayList<>();
        request.list("topics").forEach(topic -> topics.add(topic.asText()));
        return topics;
    }

    private static List<TopicPartition> partitions(Oracle.Request request) {
        List<TopicPartition> all = new ArrayList<>();
        for (String topic : topics(request)) {
            for (int p = 0; p < request.number("partitions"); p++) {
                all.add(new TopicPartition(topic, p));
            }
        }
        return all;
    }

    /** Answers once every partition answers. */
    private static Object createTopics(Oracle.Request request) throws Exception {
        List<NewTopic> create = topics(request).stream()
                .map(topic -> new NewTopic(topic, request.number("partitions"), (short) -1)
                        .configs(request.settings("configs")))
                .toList();
        Admins.admin(request).createTopics(create).all().get();
        long end = System.nanoTime() + request.timeout() * 1_000_000L;
        while (true) {
            try {
                ends(request);
                return null;
            } catch (ExecutionException notYet) {
                boolean unknown = notYet.getCause() instanceof UnknownTopicOrPartitionException
                        || notYet.getCause() instanceof TimeoutException;
                if (!unknown || System.nanoTime() > end) {
                    throw notYet;
                }
            }
            Thread.sleep(20);
        }
    }

    /** All whose name contains {@code part}; answers with how many. */
    private static Object deleteTopics(Oracle.Request request) throws Exception {
        Admin admin = Admins.admin(request);
        String part = request.text("part");
        List<String> doomed = admin.listTopics().names().get().stream().filter(t -> t.contains(part)).toList();
        admin.deleteTopics(doomed).all().get();
        long end = System.nanoTime() + request.timeout() * 1_000_000L;
        while (admin.listTopics().names().get().stream().anyMatch(t -> t.contains(part))) {
            if (System.nanoTime() > end) {
                throw new TimeoutException("topics with `" + part + "` are still there");
            }
            Thread.sleep(20);
        }
        return Map.of("deleted", doomed.size());
    }

    /** Records by the rule of {@link Numbered}, over the partitions of all topics, by several writers. */
    private static Object fill(Oracle.Request request) throws Exception {
        Numbered rule = new Numbered(withAllPartitions(request));
        List<TopicPartition> all = partitions(request);
        int writers = (int) request.number("writers", 1);
        long share = (rule.count + writers - 1) / writers;
        AtomicReference<Exception> failed = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (long from = 0; from < rule.count; from += share) {
            long first = from;
            long last = Math.min(rule.count, from + share);
            Thread thread = new Thread(() -> {
                try {
                    write(request, rule, all, first, last, failed);
                } catch (Exception e) {
                    failed.compareAndSet(null, e);
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failed.get() != null) {
            throw failed.get();
        }
        return null;
    }

    private static JsonNode withAllPartitions(Oracle.Request request) {
        var json = ((com.fasterxml.jackson.databind.node.ObjectNode) request.json()).deepCopy();
        json.put("partitions", partitions(request).size());
        json.put("first_timestamp", System.currentTimeMillis());
        return json;
    }

    private static void write(Oracle.Request request, Numbered rule, List<TopicPartition> all, long first, long last,
            AtomicReference<Exception> failed) throws Exception {
        Map<String, Object> settings = new HashMap<>(Map.of(
                "bootstrap.servers", request.bootstrap(),
                "linger.ms", 50, "batch.size", 262_144, "buffer.memory", 134_217_728,
                "max.block.ms", request.timeout(), "delivery.timeout.ms", 4 * request.timeout(),
                "request.timeout.ms", request.timeout()));
        long perTransaction = request.number("per_tx", 0);
        if (perTransaction > 0) {
            settings.put("transactional.id", "fill-" + UUID.randomUUID());
        }
        settings.putAll(request.settings("settings"));
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            if (perTransaction > 0) {
                producer.initTransactions();
            }
            for (long id = first; id < last; id++) {
                if (perTransaction > 0 && (id - first) % perTransaction == 0) {
                    producer.beginTransaction();
                }
                TopicPartition at = all.get(rule.partition(id));
                producer.send(new ProducerRecord<>(at.topic(), at.partition(), rule.timestamp(id), rule.key(id),
                        rule.value(id), Arrays.asList(rule.headers(id))), (metadata, error) -> {
                            if (error != null) {
                                failed.compareAndSet(null, error);
                            }
                        });
                if (perTransaction > 0 && ((id - first) % perTransaction == perTransaction - 1 || id == last - 1)) {
                    producer.commitTransaction();
                }
                if (failed.get() != null) {
                    return;
                }
            }
            producer.flush();
        }
    }

    /** Sums over all partitions: high watermarks, last stable offsets; and the wall clock between the two. */
    private static Object ends(Oracle.Request request) throws Exception {
        List<TopicPartition> all = partitions(request);
        long latest = sum(at(request, all, IsolationLevel.READ_UNCOMMITTED));
        long now = System.currentTimeMillis();
        long stable = sum(at(request, all, IsolationLevel.READ_COMMITTED));
        return Map.of("ms", now, "latest", latest, "stable", stable);
    }

    private static Map<TopicPartition, Long> at(Oracle.Request request, List<TopicPartition> all,
            IsolationLevel isolation) throws Exception {
        Map<TopicPartition, OffsetSpec> ask = new HashMap<>();
        all.forEach(partition -> ask.put(partition, OffsetSpec.latest()));
        Map<TopicPartition, Long> ends = new HashMap<>();
        Admins.admin(request).listOffsets(ask, new ListOffsetsOptions(isolation)).all().get()
                .forEach((partition, end) -> ends.put(partition, end.offset()));
        return ends;
    }

    private static long sum(Map<TopicPartition, Long> offsets) {
        return offsets.values().stream().mapToLong(Long::longValue).sum();
    }

    private static KafkaConsumer<byte[], byte[]> consumer(String bootstrap, Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(Map.of(
                "bootstrap.servers", bootstrap,
                "isolation.level", "read_committed",
                "auto.offset.reset", "none",
                "enable.auto.commit", false,
                "allow.auto.create.topics", false));
        settings.putAll(more);
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** How many records a read_committed consumer finds up to the last stable offsets. */
    private static Object count(Oracle.Request request) throws Exception {
        Map<TopicPartition, Long> ends = at(request, partitions(request), IsolationLevel.READ_COMMITTED);
        ends.values().removeIf(end -> end == 0);
        Map<String, Object> large = Map.of("fetch.max.wait.ms", 10, "max.poll.records", 20_000,
                "max.partition.fetch.bytes", 4_194_304);
        long records = 0;
        try (var consumer = consumer(request.bootstrap(), large)) {
            consumer.assign(ends.keySet());
            consumer.seekToBeginning(ends.keySet());
            long deadline = System.nanoTime() + request.timeout() * 1_000_000L;
            while (!ends.isEmpty()) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    Long end = ends.get(new TopicPartition(record.topic(), record.partition()));
                    records += end != null && record.offset() < end ? 1 : 0;
                }
                List<TopicPartition> done = ends.entrySet().stream()
                        .filter(end -> consumer.position(end.getKey()) >= end.getValue()).map(Map.Entry::getKey).toList();
                done.forEach(ends::remove);
                if (!done.isEmpty()) {
                    consumer.assign(ends.keySet());
                }
                if (System.nanoTime() > deadline) {
                    throw new TimeoutException("not all was read in time");
                }
            }
        }
        return Map.of("records", records);
    }

    /** Bytes on the brokers' disks, by topic, of those whose name contains {@code part}. */
    private static Object logSizes(Oracle.Request request) throws Exception {
        Admin admin = Admins.admin(request);
        List<Integer> brokers = admin.describeCluster().nodes().get().stream().map(node -> node.id()).toList();
        Map<String, Long> sizes = new TreeMap<>();
        for (var dirs : admin.describeLogDirs(brokers).allDescriptions().get().values()) {
            for (var dir : dirs.values()) {
                dir.replicaInfos().forEach((partition, replica) -> {
                    if (partition.topic().contains(request.text("part"))) {
                        sizes.merge(partition.topic(), replica.size(), Long::sum);
                    }
                });
            }
        }
        return sizes;
    }

    /**
     * Answers with the wall clock when a read_committed consumer has the first record that is not yet visible
     * when the call begins. Not the last stable offset: an abort moves that too.
     */
    private static Object nextVisible(Oracle.Request request) throws Exception {
        Map<TopicPartition, Long> ends = at(request, partitions(request), IsolationLevel.READ_COMMITTED);
        try (var consumer = consumer(request.bootstrap(), Map.of())) {
            consumer.assign(ends.keySet());
            ends.forEach(consumer::seek);
            long deadline = System.nanoTime() + request.timeout() * 1_000_000L;
            while (consumer.poll(Duration.ofMillis(100)).isEmpty()) {
                if (System.nanoTime() > deadline) {
                    throw new TimeoutException("no record comes");
                }
            }
        }
        return Map.of("ms", System.currentTimeMillis());
    }

    /**
     * Writes {@code per_second} records to {@code topic} and reads {@code copy} on the cluster {@code target},
     * read_committed. A record's value begins with the time at which it was due, so that a writer that is held
     * up does not hide a delay. What is due in the first {@code warm_up} seconds after the first arrival does
     * not count.
     */
    private static Object latency(Oracle.Request request) throws Exception {
        String topic = request.text("topic");
        int partitions = request.number("partitions");
        long perSecond = request.number("per_second", 1000);
        long warmUp = request.number("warm_up", 5) * 1_000_000_000L;
        long window = request.number("seconds", 10) * 1_000_000_000L;
        List<TopicPartition> copies = new ArrayList<>();
        for (int p = 0; p < partitions; p++) {
            copies.add(new TopicPartition(request.text("copy"), p));
        }
        AtomicLong until = new AtomicLong(Long.MAX_VALUE);
        AtomicReference<Exception> failed = new AtomicReference<>();
        AtomicLong from = new AtomicLong(Long.MAX_VALUE);
        AtomicLong sent = new AtomicLong();
        Thread writer = new Thread(() -> {
            Map<String, Object> settings = Map.of("bootstrap.servers", request.bootstrap(), "linger.ms", 0);
            int size = (int) request.number("value_size", 500);
            try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
                long begun = System.nanoTime();
                for (long id = 0;; id++) {
                    long due = begun + (long) (id * 1e9 / perSecond);
                    for (long wait = due - System.nanoTime(); wait > 0; wait = due - System.nanoTime()) {
                        LockSupport.parkNanos(wait);
                    }
                    if (due >= until.get()) {
                        return;
                    }
                    if (due >= from.get()) {
                        sent.incrementAndGet();
                    }
                    byte[] value = new byte[size];
                    ByteBuffer.wrap(value).putLong(due);
                    producer.send(new ProducerRecord<>(topic, (int) (id % partitions), null, value), (done, error) -> {
                        if (error != null) {
                            failed.compareAndSet(null, error);
                        }
                    });
                }
            } catch (Exception e) {
                failed.compareAndSet(null, e);
            }
        });
        List<Long> taken = new ArrayList<>();
        try (var consumer = consumer(request.text("target"), Map.of("max.poll.records", 5000))) {
            consumer.assign(copies);
            consumer.seekToEnd(copies);
            copies.forEach(consumer::position);
            writer.start();
            long deadline = System.nanoTime() + request.timeout() * 1_000_000L;
            while (writer.isAlive() || taken.size() < sent.get()) {
                var batch = consumer.poll(Duration.ofMillis(100));
                long now = System.nanoTime();
                if (!batch.isEmpty() && from.get() == Long.MAX_VALUE) {
                    from.set(now + warmUp);
                    until.set(now + warmUp + window);
                    deadline = now + warmUp + window + request.timeout() * 1_000_000L;
                }
                for (ConsumerRecord<byte[], byte[]> record : batch) {
                    long due = ByteBuffer.wrap(record.value()).getLong();
                    if (due >= from.get() && due < until.get()) {
                        taken.add(now - due);
                    }
                }
                if (failed.get() != null) {
                    throw failed.get();
                }
                if (now > deadline) {
                    throw new TimeoutException("of " + sent.get() + " records " + taken.size() + " have come");
                }
            }
        } finally {
            until.set(Long.MIN_VALUE);
            writer.join();
        }
        taken.sort(null);
        int last = taken.size() - 1;
        return Map.of("records", taken.size(), "p50_us", taken.get(last / 2) / 1000,
                "p99_us", taken.get((int) (last * 0.99)) / 1000, "max_us", taken.get(last) / 1000);
    }
}
