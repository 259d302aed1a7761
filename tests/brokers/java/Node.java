import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import kafka.tools.StorageTool;

/** One Kafka node. Formats its storage at the first start: a JVM of its own for that takes a second. */
public final class Node {
    private Node() {}

    /** Arguments: properties file, cluster id. */
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(Path.of(args[0]))) {
            properties.load(reader);
        }
        if (!Files.exists(Path.of(properties.getProperty("log.dirs"), "meta.properties"))) {
            String[] format = {"format", "--cluster-id", args[1], "--config", args[0]};
            int code = StorageTool.execute(format, System.out);
            if (code != 0) {
                System.exit(code);
            }
        }
        kafka.Kafka.main(new String[] {args[0]});
    }
}
