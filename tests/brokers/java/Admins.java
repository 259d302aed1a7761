import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Topics, their settings and offsets. */
final class Admins {
    static final Map<String, Oracle.Operation> OPERATIONS = Map.ofEntries(
            Map.entry("describe_cluster", Admins::describeCluster),
            Map.entry("create_topic", Admins::createTopic),
            Map.entry("delete_topic", Admins::deleteTopic),
            Map.entry("add_partitions", Admins::addPartitions),
            Map.entry("delete_records", Admins::deleteRecords),
            Map.entry("deny_write", Admins::denyWrite),
            Map.entry("deny", Admins::deny),
            Map.entry("permit", Admins::permit),
            Map.entry("alter_config", Admins::alterConfig),
            Map.entry("list_topics", request -> topics(request).keySet()),
            Map.entry("describe_topic", Admins::describeTopic),
            Map.entry("list_offsets", request -> offsets(request, List.of(request.text("topic")))
                    .get(request.text("topic"))),
            Map.entry("snapshot", Admins::snapshot));

    private static final Map<String, Admin> ADMINS = new ConcurrentHashMap<>();

    private Admins() {}

    /** One client for each cluster and time-out, kept: a new one costs a connection each time. */
    static Admin admin(Oracle.Request request) {
        int timeout = request.timeout();
        return ADMINS.computeIfAbsent(request.bootstrap() + " " + timeout, ignored -> Admin.create(Map.of(
                "bootstrap.servers", request.bootstrap(),
                "default.api.timeout.ms", timeout,
                "request.timeout.ms", Math.min(timeout, 10_000),
                "reconnect.backoff.max.ms", 200)));
    }

    private static Object describeCluster(Oracle.Request request) throws Exception {
        var cluster = admin(request).describeCluster();
        List<Integer> brokers = cluster.nodes().get().stream().map(node -> node.id()).sorted().toList();
        return Map.of("cluster_id", cluster.clusterId().get(), "brokers", brokers);
    }

    private static Object createTopic(Oracle.Request request) throws Exception {
        String topic = request.text("topic");
        Map<Integer, List<Integer>> assigned = new TreeMap<>();
        for (JsonNode replicas : request.list("assignment")) {
            List<Integer> brokers = new ArrayList<>();
            replicas.forEach(broker -> brokers.add(broker.asInt()));
            assigned.put(assigned.size(), brokers);
        }
        int partitions = assigned.isEmpty() ? request.number("partitions") : assigned.size();
        NewTopic create = assigned.isEmpty()
                ? new NewTopic(topic, Optional.of(partitions),
                        Optional.of((short) request.number("replication", -1)))
                : new NewTopic(topic, assigned);
        admin(request).createTopics(List.of(create.configs(request.settings("configs")))).all().get();
        return topicOnceComplete(request, topic, partitions);
    }

    private static Object addPartitions(Oracle.Request request) throws Exception {
        String topic = request.text("topic");
        int total = request.number("total");
        admin(request).createPartitions(Map.of(topic, NewPartitions.increaseTo(total))).all().get();
        return topicOnceComplete(request, topic, total);
    }

    /**
     * The controller answers before the brokers know: wait until every partition has its leader, and
     * the leader its partition. A producer with several requests on their way may otherwise have the
     * first ones refused and a later one taken, and all others are out of sequence for ever.
     */
    private static Object topicOnceComplete(Oracle.Request request, String topic, int partitions)
            throws Exception {
        long end = System.nanoTime() + request.timeout() * 1_000_000L;
        while (System.nanoTime() < end) {
            try {
                TopicDescription description = describe(request, topic);
                if (description.partitions().size() == partitions
                        && description.partitions().stream().allMatch(p -> p.leader() != null)) {
                    offsets(request, List.of(topic)); // asked again until the leaders know it too
                    return Map.of("id", description.topicId().toString());
                }
            } catch (UnknownTopicOrPartitionException notYet) {
                // looked at again below
            }
            Thread.sleep(5);
        }
        throw new TimeoutException("not every partition of `" + topic + "` has a leader yet");
    }

    private static TopicDescription describe(Oracle.Request request, String topic) throws Exception {
        try {
            return admin(request).describeTopics(List.of(topic)).allTopicNames().get().get(topic);
        } catch (java.util.concurrent.ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException unknown) {
                throw unknown;
            }
            throw e;
        }
    }

    private static Object deleteTopic(Oracle.Request request) throws Exception {
        String topic = request.text("topic");
        admin(request).deleteTopics(List.of(topic)).all().get();
        long end = System.nanoTime() + request.timeout() * 1_000_000L;
        while (topics(request).containsKey(topic)) {
            if (System.nanoTime() > end) {
                throw new TimeoutException("`" + topic + "` is still there");
            }
            Thread.sleep(5);
        }
        return null;
    }

    private static Object deleteRecords(Oracle.Request request) throws Exception {
        RecordsToDelete before = RecordsToDelete.beforeOffset(request.number("before", -1));
        var deleted = admin(request).deleteRecords(Map.of(partition(request.json()), before));
        return Map.of("earliest", deleted.lowWatermarks().get(partition(request.json())).get().lowWatermark());
    }

    /** Takes the right to write to a topic from whoever is not authenticated; needs an authorizer. */
    private static Object denyWrite(Oracle.Request request) throws Exception {
        var topic = new ResourcePattern(ResourceType.TOPIC, request.text("topic"), PatternType.LITERAL);
        var denied = new AccessControlEntry(
                "User:ANONYMOUS", "*", AclOperation.WRITE, AclPermissionType.DENY);
        admin(request).createAcls(List.of(new AclBinding(topic, denied))).all().get();
        return null;
    }

    private static ResourcePattern resource(Oracle.Request request) {
        ResourceType type = ResourceType.fromString(request.text("resource"));
        return new ResourcePattern(type, request.text("name"), PatternType.LITERAL);
    }

    /**
     * Takes one right to one resource from everybody, and leaves all others: where a resource has any
     * rule, what no rule allows is denied.
     */
    private static Object deny(Oracle.Request request) throws Exception {
        AclOperation right = AclOperation.fromString(request.text("right"));
        var denied = new AccessControlEntry("User:*", "*", right, AclPermissionType.DENY);
        var allowed = new AccessControlEntry("User:*", "*", AclOperation.ALL, AclPermissionType.ALLOW);
        ResourcePattern resource = resource(request);
        admin(request).createAcls(List.of(new AclBinding(resource, allowed), new AclBinding(resource, denied)))
                .all().get();
        return null;
    }

    /** Removes all rules of a resource. */
    private static Object permit(Oracle.Request request) throws Exception {
        AclBindingFilter all = new AclBindingFilter(resource(request).toFilter(), AccessControlEntryFilter.ANY);
        admin(request).deleteAcls(List.of(all)).all().get();
        return null;
    }

    static TopicPartition partition(JsonNode json) {
        return new TopicPartition(json.get("topic").asText(), json.get("partition").asInt());
    }

    private static Object alterConfig(Oracle.Request request) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, request.text("topic"));
        List<AlterConfigOp> changes = new ArrayList<>();
        request.settings("set").forEach((key, value) ->
                changes.add(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET)));
        for (JsonNode key : request.list("unset")) {
            changes.add(new AlterConfigOp(new ConfigEntry(key.asText(), ""), AlterConfigOp.OpType.DELETE));
        }
        admin(request).incrementalAlterConfigs(Map.of(resource, changes)).all().get();
        return null;
    }

    private static Map<String, TopicListing> topics(Oracle.Request request) throws Exception {
        ListTopicsOptions options = new ListTopicsOptions().listInternal(request.flag("internal"));
        return new TreeMap<>(admin(request).listTopics(options).namesToListings().get());
    }

    private static Object describeTopic(Oracle.Request request) throws Exception {
        return descriptions(request, List.of(request.text("topic"))).get(request.text("topic"));
    }

    private static Map<String, Object> descriptions(Oracle.Request request, Iterable<String> topics)
            throws Exception {
        List<String> names = StreamSupport.stream(topics.spliterator(), false).toList();
        var described = admin(request).describeTopics(names).allTopicNames().get();
        var resources = names.stream().map(n -> new ConfigResource(ConfigResource.Type.TOPIC, n)).toList();
        var configs = admin(request).describeConfigs(resources).all().get();
        Map<String, Object> answer = new TreeMap<>();
        for (var resource : resources) {
            TopicDescription topic = described.get(resource.name());
            Map<String, String> explicit = new TreeMap<>();
            for (ConfigEntry entry : configs.get(resource).entries()) {
                if (entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG) {
                    explicit.put(entry.name(), entry.value());
                }
            }
            answer.put(resource.name(), Map.of(
                    "id", topic.topicId().toString(),
                    "partitions", topic.partitions().size(),
                    "replication", topic.partitions().get(0).replicas().size(),
                    "leaders", topic.partitions().stream()
                            .map(p -> p.leader() == null ? -1 : p.leader().id()).toList(),
                    "in_sync", topic.partitions().stream().map(p -> p.isr().size()).toList(),
                    "configs", explicit));
        }
        return answer;
    }

    /** Topic → for each partition earliest, latest (high watermark) and stable (LSO) offset. */
    static Map<String, List<Map<String, Long>>> offsets(Oracle.Request request, Iterable<String> topics)
            throws Exception {
        List<String> names = StreamSupport.stream(topics.spliterator(), false).toList();
        Map<String, Integer> counts = admin(request).describeTopics(names).allTopicNames().get()
                .entrySet().stream().collect(Collectors.toMap(Map.Entry::getKey, e -> e.getValue().partitions().size()));
        Set<TopicPartition> partitions = counts.entrySet().stream()
                .flatMap(e -> java.util.stream.IntStream.range(0, e.getValue())
                        .mapToObj(p -> new TopicPartition(e.getKey(), p)))
                .collect(Collectors.toSet());
        var earliest = at(request, partitions, OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED);
        var latest = at(request, partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED);
        var stable = at(request, partitions, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED);
        Map<String, List<Map<String, Long>>> answer = new TreeMap<>();
        counts.forEach((topic, count) -> {
            List<Map<String, Long>> list = new ArrayList<>();
            for (int p = 0; p < count; p++) {
                TopicPartition partition = new TopicPartition(topic, p);
                list.add(new TreeMap<>(Map.of("earliest", earliest.get(partition),
                        "latest", latest.get(partition), "stable", stable.get(partition))));
            }
            answer.put(topic, list);
        });
        return answer;
    }

    private static Map<TopicPartition, Long> at(Oracle.Request request, Set<TopicPartition> partitions,
            OffsetSpec spec, IsolationLevel isolation) throws Exception {
        Map<TopicPartition, OffsetSpec> ask =
                partitions.stream().collect(Collectors.toMap(p -> p, p -> spec));
        return admin(request).listOffsets(ask, new ListOffsetsOptions(isolation)).all().get()
                .entrySet().stream().collect(Collectors.toMap(Map.Entry::getKey, e -> e.getValue().offset()));
    }

    /** All that a client could have changed on a cluster, but for internal topics. */
    private static Object snapshot(Oracle.Request request) throws Exception {
        Set<String> topics = topics(request).keySet();
        ConfigResource everyBroker = new ConfigResource(ConfigResource.Type.BROKER, "");
        Map<String, String> brokerConfigs = new TreeMap<>();
        for (ConfigEntry entry : admin(request).describeConfigs(List.of(everyBroker)).all().get()
                .get(everyBroker).entries()) {
            brokerConfigs.put(entry.name(), entry.value());
        }
        return new TreeMap<>(Map.of(
                "cluster_id", admin(request).describeCluster().clusterId().get(),
                "topics", descriptions(request, topics),
                "offsets", offsets(request, topics),
                "groups", Groups.allOffsets(request),
                "broker_configs", brokerConfigs));
    }
}
