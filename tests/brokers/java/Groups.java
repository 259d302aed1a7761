import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.DescribeTransactionsOptions;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Consumer groups, and what the brokers know of transactions. */
final class Groups {
    static final Map<String, Oracle.Operation> OPERATIONS = Map.ofEntries(
            Map.entry("list_groups", Groups::listGroups),
            Map.entry("members", Groups::members),
            Map.entry("group_offsets", request -> offsets(request, request.text("group"))),
            Map.entry("alter_group_offsets", Groups::alterOffsets),
            Map.entry("delete_group_offsets", Groups::deleteOffsets),
            Map.entry("delete_group", Groups::deleteGroup),
            Map.entry("list_transactions", Groups::listTransactions),
            Map.entry("describe_transaction", Groups::describeTransaction),
            Map.entry("describe_producers", Groups::describeProducers),
            Map.entry("coordinators", Groups::coordinators),
            Map.entry("fence", Groups::fence));

    /** Not for the minute that a client tries on with a broker that has just died. */
    private static final DescribeConsumerGroupsOptions SOON = new DescribeConsumerGroupsOptions().timeoutMs(3_000);

    private Groups() {}

    private static Object listGroups(Oracle.Request request) throws Exception {
        Map<String, Object> answer = new TreeMap<>();
        for (GroupListing group : Admins.admin(request).listGroups().all().get()) {
            answer.put(group.groupId(), group.groupState().map(Object::toString).orElse("Unknown"));
        }
        return answer;
    }

    /** By their static names, where they have one. */
    private static Object members(Oracle.Request request) throws Exception {
        String group = request.text("group");
        return Admins.admin(request).describeConsumerGroups(List.of(group), SOON).describedGroups().get(group).get()
                .members().stream().map(member -> member.groupInstanceId().orElse(member.consumerId())).sorted().toList();
    }

    private static List<Object> offsets(Oracle.Request request, String group) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets =
                Admins.admin(request).listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        List<Object> answer = new ArrayList<>();
        offsets.entrySet().stream()
                .filter(entry -> entry.getValue() != null)
                .sorted(Comparator.comparing((Map.Entry<TopicPartition, OffsetAndMetadata> e) -> e.getKey().topic())
                        .thenComparing(e -> e.getKey().partition()))
                .forEach(entry -> {
                    Map<String, Object> one = new TreeMap<>();
                    one.put("topic", entry.getKey().topic());
                    one.put("partition", entry.getKey().partition());
                    one.put("offset", entry.getValue().offset());
                    one.put("leader_epoch", entry.getValue().leaderEpoch().orElse(null));
                    one.put("metadata", entry.getValue().metadata());
                    answer.add(one);
                });
        return answer;
    }

    static Map<String, Object> allOffsets(Oracle.Request request) throws Exception {
        Map<String, Object> answer = new TreeMap<>();
        for (GroupListing group : Admins.admin(request).listGroups().all().get()) {
            answer.put(group.groupId(), offsets(request, group.groupId()));
        }
        return answer;
    }

    static Map<TopicPartition, OffsetAndMetadata> offsetsIn(Oracle.Request request) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (JsonNode offset : request.list("offsets")) {
            offsets.put(Admins.partition(offset), new OffsetAndMetadata(offset.get("offset").asLong(),
                    java.util.Optional.empty(), offset.path("metadata").asText("")));
        }
        return offsets;
    }

    private static Object alterOffsets(Oracle.Request request) throws Exception {
        Admins.admin(request).alterConsumerGroupOffsets(request.text("group"), offsetsIn(request)).all().get();
        return null;
    }

    private static Object deleteOffsets(Oracle.Request request) throws Exception {
        Set<TopicPartition> partitions = new HashSet<>(offsetsIn(request).keySet());
        Admins.admin(request).deleteConsumerGroupOffsets(request.text("group"), partitions).all().get();
        return null;
    }

    private static Object deleteGroup(Oracle.Request request) throws Exception {
        Admins.admin(request).deleteConsumerGroups(List.of(request.text("group"))).all().get();
        return null;
    }

    private static Object listTransactions(Oracle.Request request) throws Exception {
        Map<String, Object> answer = new TreeMap<>();
        for (var listing : Admins.admin(request).listTransactions().all().get()) {
            answer.put(listing.transactionalId(), listing.state().toString());
        }
        return answer;
    }

    private static Object describeTransaction(Oracle.Request request) throws Exception {
        String id = request.text("transactional_id");
        var described = Admins.admin(request).describeTransactions(List.of(id)).description(id).get();
        List<String> partitions = described.topicPartitions().stream().map(Object::toString).sorted().toList();
        return Map.of("state", described.state().toString(), "producer_id", described.producerId(),
                "epoch", described.producerEpoch(), "partitions", partitions);
    }

    /** The brokers that coordinate a group and a transactional id. */
    private static Object coordinators(Oracle.Request request) throws Exception {
        String group = request.text("group");
        String id = request.text("transactional_id");
        var admin = Admins.admin(request);
        var ofGroup = admin.describeConsumerGroups(List.of(group), SOON).describedGroups().get(group).get();
        var ofId = admin.describeTransactions(List.of(id), new DescribeTransactionsOptions().timeoutMs(3_000))
                .description(id).get();
        return Map.of("group", ofGroup.coordinator().id(), "transaction", ofId.coordinatorId());
    }

    private static Object describeProducers(Oracle.Request request) throws Exception {
        TopicPartition partition = Admins.partition(request.json());
        var state = Admins.admin(request).describeProducers(List.of(partition)).partitionResult(partition).get();
        List<Object> answer = new ArrayList<>();
        for (var producer : state.activeProducers()) {
            Map<String, Object> one = new TreeMap<>();
            one.put("producer_id", producer.producerId());
            one.put("epoch", producer.producerEpoch());
            one.put("open_since",
                    producer.currentTransactionStartOffset().isPresent()
                            ? producer.currentTransactionStartOffset().getAsLong() : null);
            answer.add(one);
        }
        return answer;
    }

    /** As a newer producer of that transactional id would. */
    private static Object fence(Oracle.Request request) throws Exception {
        Admins.admin(request).fenceProducers(List.of(request.text("transactional_id"))).all().get();
        return null;
    }
}
