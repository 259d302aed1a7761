import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes records, plain and in transactions. */
final class Producers {
    static final Map<String, Oracle.Operation> OPERATIONS = Map.of(
            "open_producer", Producers::open,
            "begin", request -> act(request, KafkaProducer::beginTransaction),
            "commit", request -> act(request, KafkaProducer::commitTransaction),
            "abort", request -> act(request, KafkaProducer::abortTransaction),
            "abandon", Producers::abandon,
            "send_offsets", Producers::sendOffsets,
            "produce", Producers::produce,
            "produce_raw", RawProduce::produce,
            "produce_numbered", Producers::produceNumbered);

    /** Those that stay open between requests, for transactions. */
    private static final Map<String, KafkaProducer<byte[], byte[]>> OPEN = new ConcurrentHashMap<>();

    private interface Act {
        void on(KafkaProducer<byte[], byte[]> producer);
    }

    private Producers() {}

    private static KafkaProducer<byte[], byte[]> producer(Oracle.Request request, Map<String, Object> defaults) {
        int timeout = request.timeout();
        Map<String, Object> settings = new HashMap<>(Map.of(
                "bootstrap.servers", request.bootstrap(),
                "max.block.ms", timeout,
                "delivery.timeout.ms", timeout,
                "request.timeout.ms", timeout / 3,
                "reconnect.backoff.max.ms", 200));
        settings.putAll(defaults);
        settings.putAll(request.settings("settings"));
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static Object open(Oracle.Request request) {
        KafkaProducer<byte[], byte[]> producer = producer(request, Map.of("linger.ms", 0));
        try {
            producer.initTransactions();
        } catch (RuntimeException e) {
            producer.close(Duration.ZERO);
            throw e;
        }
        String handle = UUID.randomUUID().toString();
        OPEN.put(handle, producer);
        return handle;
    }

    private static KafkaProducer<byte[], byte[]> opened(Oracle.Request request) {
        KafkaProducer<byte[], byte[]> producer = OPEN.get(request.text("producer"));
        if (producer == null) {
            throw new IllegalStateException("this producer was abandoned");
        }
        return producer;
    }

    private static Object act(Oracle.Request request, Act act) {
        act.on(opened(request));
        return null;
    }

    /** An orderly close would abort an open transaction; this leaves it open on the broker. */
    private static Object abandon(Oracle.Request request) {
        opened(request).close(Duration.ZERO);
        OPEN.remove(request.text("producer"));
        return null;
    }

    @SuppressWarnings("removal") // offsets of a group without members
    private static Object sendOffsets(Oracle.Request request) {
        opened(request).sendOffsetsToTransaction(
                Groups.offsetsIn(request), new ConsumerGroupMetadata(request.text("group")));
        return null;
    }

    /** Answers with the offset of each record, in the order of the request. */
    private static Object produce(Oracle.Request request) throws Exception {
        if (request.json().hasNonNull("producer")) {
            return send(request, opened(request));
        }
        try (var producer = producer(request, Map.of("linger.ms", 0))) {
            return send(request, producer);
        }
    }

    private static Object send(Oracle.Request request, KafkaProducer<byte[], byte[]> producer) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode record : request.list("records")) {
            List<Header> headers = new ArrayList<>();
            for (JsonNode header : record.path("h")) {
                headers.add(new RecordHeader(text(Hex.bytes(header.get(0))), Hex.bytes(header.get(1))));
            }
            Long timestamp = record.hasNonNull("t") ? record.get("t").asLong() : null;
            sent.add(producer.send(new ProducerRecord<>(request.text("topic"), record.get("p").asInt(),
                    timestamp, Hex.bytes(record.get("k")), Hex.bytes(record.get("v")), headers)));
        }
        producer.flush();
        List<Long> offsets = new ArrayList<>();
        for (Future<RecordMetadata> one : sent) {
            offsets.add(one.get().offset());
        }
        return offsets;
    }

    private static String text(byte[] name) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(name)).toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("Kafka's producer takes header names as text only: use `produce_raw`");
        }
    }

    /**
     * Records by the rule of {@link Numbered}. With {@code per_tx} in transactions of so many
     * records; with {@code abort_every} = n the records of every n-th one are first written and aborted,
     * then written again. With {@code per_second} not faster than that. With {@code faults} some are not
     * what the rule makes ({@link Tampered}).
     */
    private static Object produceNumbered(Oracle.Request request) throws Exception {
        Numbered rule = new Numbered(request.json());
        long perTransaction = request.number("per_tx", 0);
        Map<String, Object> defaults = new HashMap<>(Map.of(
                "linger.ms", 20, "batch.size", 262_144, "buffer.memory", 67_108_864,
                "delivery.timeout.ms", 4 * request.timeout())); // a full buffer is no fault
        if (perTransaction > 0) {
            defaults.put("transactional.id", "oracle-" + UUID.randomUUID());
        }
        long begun = System.nanoTime();
        try (var producer = producer(request, defaults)) {
            Tampered copy = new Tampered(request.text("topic"), rule, request.list("faults"));
            Sender sender = new Sender(request, producer, rule, copy);
            if (perTransaction == 0) {
                sender.send(rule.first, rule.first + rule.count);
            } else {
                producer.initTransactions();
                sender.sendInTransactions(perTransaction, request.number("abort_every", 0));
            }
            producer.flush();
            sender.failIfFailed();
        }
        return Map.of("ms", (System.nanoTime() - begun) / 1_000_000);
    }

    private static final class Sender {
        private final KafkaProducer<byte[], byte[]> producer;
        private final Numbered rule;
        private final Tampered copy;
        private final AtomicReference<Exception> failed = new AtomicReference<>();
        private final double perNano;
        private final long begun = System.nanoTime();

        Sender(Oracle.Request request, KafkaProducer<byte[], byte[]> producer, Numbered rule, Tampered copy) {
            this.producer = producer;
            this.rule = rule;
            this.copy = copy;
            this.perNano = request.number("per_second", 0) / 1e9;
        }

        void sendInTransactions(long perTransaction, long abortEvery) throws Exception {
            long end = rule.first + rule.count;
            long transaction = 1;
            for (long from = rule.first; from < end; from += perTransaction, transaction++) {
                long to = Math.min(end, from + perTransaction);
                if (abortEvery > 0 && transaction % abortEvery == 0) {
                    producer.beginTransaction();
                    send(from, to);
                    producer.flush(); // an abort would drop what is not yet on its way
                    producer.abortTransaction();
                }
                producer.beginTransaction();
                send(from, to);
                producer.commitTransaction();
            }
        }

        void send(long from, long to) throws Exception {
            for (long id = from; id < to; id++) {
                if (perNano > 0) {
                    LockSupport.parkNanos(begun + (long) ((id - rule.first) / perNano) - System.nanoTime());
                }
                if ((id & 1023) == 0) {
                    failIfFailed();
                }
                for (ProducerRecord<byte[], byte[]> record : copy.records(id)) {
                    producer.send(record, (metadata, error) -> {
                        if (error != null) {
                            failed.compareAndSet(null, error);
                        }
                    });
                }
            }
        }

        void failIfFailed() throws Exception {
            if (failed.get() != null) {
                throw failed.get();
            }
        }
    }
}
