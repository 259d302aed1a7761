import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.common.KafkaException;

/**
 * The second client: Apache Kafka's own, in another language than the pipe.
 *
 * <p>A request is one line of JSON on stdin, with {@code id}, {@code op}, {@code bootstrap} and what
 * the operation needs; its answer is one line on stdout, with the id and {@code ok}, or {@code error}
 * (the exception's class) and {@code message}. Requests run side by side; answers come as they are
 * ready. Bytes are hex, so that none and empty differ. The process ends when stdin does.
 */
public final class Oracle {
    static final ObjectMapper JSON = new ObjectMapper();

    /** One request, and how to read its fields. */
    record Request(JsonNode json) {
        String text(String field) {
            JsonNode value = json.get(field);
            if (value == null || value.isNull()) {
                throw new IllegalArgumentException("the request lacks `" + field + "`");
            }
            return value.asText();
        }

        int number(String field) {
            return Integer.parseInt(text(field));
        }

        long number(String field, long otherwise) {
            JsonNode value = json.get(field);
            return value == null || value.isNull() ? otherwise : value.asLong();
        }

        boolean flag(String field) {
            return json.path(field).asBoolean(false);
        }

        Iterable<JsonNode> list(String field) {
            return json.path(field);
        }

        Map<String, String> settings(String field) {
            return JSON.convertValue(json.path(field), JSON.getTypeFactory()
                    .constructMapType(Map.class, String.class, String.class));
        }

        String bootstrap() {
            return text("bootstrap");
        }

        /** How long an operation may take. */
        int timeout() {
            return (int) number("timeout_ms", 30_000);
        }
    }

    interface Operation {
        Object answer(Request request) throws Exception;
    }

    private Oracle() {}

    public static void main(String[] args) throws IOException {
        ExecutorService workers = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String request = line;
            workers.execute(() -> answer(request, out));
        }
        Runtime.getRuntime().halt(0); // the owner is gone: nothing is worth being finished
    }

    private static void answer(String line, BufferedWriter out) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            Request request = new Request(JSON.readTree(line));
            answer.set("id", request.json().get("id"));
            answer.set("ok", JSON.valueToTree(perform(request)));
        } catch (Throwable thrown) {
            Throwable error = thrown;
            while (isWrapping(error) && error.getCause() != null) {
                error = error.getCause();
            }
            answer.put("error", error.getClass().getSimpleName());
            answer.put("message", String.valueOf(error.getMessage()));
        }
        try {
            synchronized (out) {
                out.write(JSON.writeValueAsString(answer));
                out.newLine();
                out.flush();
            }
        } catch (IOException gone) {
            Runtime.getRuntime().halt(0);
        }
    }

    private static boolean isWrapping(Throwable error) {
        return error instanceof ExecutionException
                || error instanceof CompletionException
                || error.getClass() == KafkaException.class;
    }

    /** The answer to a request; also for {@link WarmUp}. */
    static Object perform(Request request) throws Exception {
        String name = request.text("op");
        for (var operations : List.of(
                Admins.OPERATIONS, Groups.OPERATIONS, Measures.OPERATIONS, Producers.OPERATIONS, Readers.OPERATIONS)) {
            Operation operation = operations.get(name);
            if (operation != null) {
                Object answer = operation.answer(request);
                return answer == null ? Map.of() : answer;
            }
        }
        throw new IllegalArgumentException("there is no operation `" + name + "`");
    }
}
