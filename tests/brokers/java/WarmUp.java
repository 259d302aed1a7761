import java.util.Map;
import org.apache.kafka.clients.admin.Admin;

/**
 * Runs a node for a moment, so that the JVM can write down the classes that this needs (class data
 * sharing): later starts take about half the time.
 */
public final class WarmUp {
    private WarmUp() {}

    /** Arguments: those of {@link Node}, and the node's address. */
    public static void main(String[] args) throws Exception {
        daemon(() -> Node.main(args));
        daemon(() -> {
            Thread.sleep(60_000);
            throw new IllegalStateException("no end after 60 s");
        });
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[2]))) {
            admin.describeCluster().nodes().get();
        }
        System.exit(0);
    }

    private interface Task {
        void run() throws Exception;
    }

    private static void daemon(Task task) {
        Thread thread = new Thread(() -> {
            try {
                task.run();
            } catch (Throwable error) {
                error.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
