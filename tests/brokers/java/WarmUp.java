/**
 * Runs a node and the oracle's operations for a moment, so that the JVM can write down the classes
 * that they need (class data sharing): later starts take about half the time.
 */
public final class WarmUp {
    private WarmUp() {}

    /** Arguments: those of {@link Node}, and the node's address. */
    public static void main(String[] args) throws Exception {
        daemon(() -> Node.main(args));
        daemon(() -> {
            Thread.sleep(300_000); // takes 5 s, or a minute on a machine that is busy compiling
            throw new IllegalStateException("no end after 300 s");
        });
        String numbered = "'topic':'t','partitions':2,'count':20,'value_size':50,'headers':1,'first_timestamp':1";
        perform(args[2], "'op':'describe_cluster'");
        perform(args[2], "'op':'create_topic','topic':'t','partitions':2,'configs':{}");
        perform(args[2], "'op':'produce_numbered','settings':{}," + numbered);
        perform(args[2], "'op':'produce_numbered','per_tx':10,'settings':{}," + numbered);
        perform(args[2], "'op':'read','committed':true,'topic':'t'");
        perform(args[2], "'op':'digest','committed':false,'topic':'t'");
        perform(args[2], "'op':'snapshot'");
        System.exit(0);
    }

    private static void perform(String address, String request) throws Exception {
        String json = "{'bootstrap':'" + address + "','timeout_ms':120000," + request + "}";
        Oracle.perform(new Oracle.Request(Oracle.JSON.readTree(json.replace('\'', '"'))));
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
