import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.zookeeper.server.ServerConfig;
import org.apache.zookeeper.server.ZooKeeperServerMain;

/** One Kafka broker with the ZooKeeper that it needs, in one process. */
public final class ZooNode {
    private ZooNode() {}

    /** Arguments: properties file, cluster id (which such brokers make up themselves). */
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(Path.of(args[0]))) {
            properties.load(reader);
        }
        System.setProperty("zookeeper.admin.enableServer", "false");
        String address = properties.getProperty("zookeeper.connect");
        ServerConfig config = new ServerConfig();
        String port = address.substring(address.indexOf(':') + 1);
        Path beside = Path.of(properties.getProperty("log.dirs")).resolveSibling("zookeeper");
        config.parse(new String[] {port, beside.toString()});
        Thread zookeeper = new Thread(() -> {
            try {
                new ZooKeeperServerMain().runFromConfig(config);
            } catch (Exception error) {
                error.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        });
        zookeeper.setDaemon(true);
        zookeeper.start();
        kafka.Kafka.main(new String[] {args[0]});
    }
}
