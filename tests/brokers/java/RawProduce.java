import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.apache.kafka.common.protocol.Errors;

/**
 * Writes what Kafka's own producer refuses and a broker takes: header names that are not UTF-8, and
 * negative timestamps. One record batch (format 2, not compressed) for each partition, made and sent
 * by hand, in a Produce request of version 7.
 */
final class RawProduce {
    private static final int PRODUCE = 0;
    private static final int VERSION = 7;

    private RawProduce() {}

    /** Answers with the offset of each record, in the order of the request. */
    static Object produce(Oracle.Request request) throws Exception {
        String topic = request.text("topic");
        Map<Integer, List<JsonNode>> partitions = new TreeMap<>();
        List<long[]> places = new ArrayList<>();
        for (JsonNode record : request.list("records")) {
            List<JsonNode> batch = partitions.computeIfAbsent(record.get("p").asInt(), p -> new ArrayList<>());
            places.add(new long[] {record.get("p").asInt(), batch.size()});
            batch.add(record);
        }
        var described = Admins.admin(request).describeTopics(List.of(topic)).allTopicNames().get().get(topic);
        Map<Integer, Long> bases = new TreeMap<>();
        for (var entry : partitions.entrySet()) {
            var leader = described.partitions().get(entry.getKey()).leader();
            try (Socket socket = new Socket(leader.host(), leader.port())) {
                socket.setSoTimeout(request.timeout());
                send(socket, topic, entry.getKey(), batch(entry.getValue()), request.timeout());
                bases.put(entry.getKey(), answer(socket));
            }
        }
        return places.stream().map(place -> bases.get((int) place[0]) + place[1]).toList();
    }

    private static void send(Socket socket, String topic, int partition, byte[] batch, int timeout)
            throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeShort(PRODUCE);
        out.writeShort(VERSION);
        out.writeInt(1); // correlation id
        text(out, "oracle");
        out.writeShort(-1); // no transactional id
        out.writeShort(-1); // acks of all
        out.writeInt(timeout);
        out.writeInt(1);
        text(out, topic);
        out.writeInt(1);
        out.writeInt(partition);
        out.writeInt(batch.length);
        out.write(batch);
        DataOutputStream wire = new DataOutputStream(socket.getOutputStream());
        wire.writeInt(bytes.size());
        bytes.writeTo(wire);
        wire.flush();
    }

    private static long answer(Socket socket) throws IOException {
        DataInputStream in = new DataInputStream(socket.getInputStream());
        in.readInt(); // size
        in.readInt(); // correlation id
        in.readInt(); // topics
        in.skipNBytes(in.readShort());
        in.readInt(); // partitions
        in.readInt(); // partition
        Errors error = Errors.forCode(in.readShort());
        if (error != Errors.NONE) {
            throw error.exception();
        }
        return in.readLong();
    }

    private static void text(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeShort(bytes.length);
        out.write(bytes);
    }

    private static byte[] batch(List<JsonNode> records) throws IOException {
        long base = records.get(0).get("t").asLong();
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(content);
        out.writeShort(0); // attributes: not compressed, CreateTime
        out.writeInt(records.size() - 1);
        out.writeLong(base);
        out.writeLong(records.stream().mapToLong(record -> record.get("t").asLong()).max().getAsLong());
        out.writeLong(-1); // no producer id,
        out.writeShort(-1); // no epoch
        out.writeInt(-1); // and no sequence
        out.writeInt(records.size());
        for (int i = 0; i < records.size(); i++) {
            byte[] record = record(records.get(i), base, i);
            varint(out, record.length);
            out.write(record);
        }
        CRC32C crc = new CRC32C();
        crc.update(content.toByteArray());
        ByteArrayOutputStream batch = new ByteArrayOutputStream();
        out = new DataOutputStream(batch);
        out.writeLong(0); // base offset, given by the broker
        out.writeInt(4 + 1 + 4 + content.size());
        out.writeInt(-1); // leader epoch, set by the broker
        out.writeByte(2); // format
        out.writeInt((int) crc.getValue());
        content.writeTo(out);
        return batch.toByteArray();
    }

    private static byte[] record(JsonNode record, long base, int offset) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeByte(0); // attributes
        varint(out, record.get("t").asLong() - base);
        varint(out, offset);
        framed(out, Hex.bytes(record.get("k")));
        framed(out, Hex.bytes(record.get("v")));
        JsonNode headers = record.path("h");
        varint(out, headers.size());
        for (JsonNode header : headers) {
            framed(out, Hex.bytes(header.get(0)));
            framed(out, Hex.bytes(header.get(1)));
        }
        return bytes.toByteArray();
    }

    private static void framed(DataOutputStream out, byte[] bytes) throws IOException {
        if (bytes == null) {
            varint(out, -1);
        } else {
            varint(out, bytes.length);
            out.write(bytes);
        }
    }

    /** Zig-zag, seven bits in a byte, the lowest first. */
    private static void varint(DataOutputStream out, long number) throws IOException {
        long rest = (number << 1) ^ (number >> 63);
        while ((rest & ~0x7fL) != 0) {
            out.writeByte((int) (rest & 0x7f | 0x80));
            rest >>>= 7;
        }
        out.writeByte((int) rest);
    }
}
