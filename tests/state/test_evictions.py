from koordpy.state.cluster import Cluster
from koordpy.state.eviction import Preemptor
from tests.builders import node, pod

VIP = Preemptor(100)


def cluster_with(*pods):
    cluster = Cluster()
    cluster.upsert_node(node())
    for each in pods:
        cluster.upsert_pod(each)
    return cluster


def evictable(cluster):
    """How many pods a job of priority 100 may evict."""
    classes = cluster.evictions.reach(VIP).classes
    return sum(int(each.counts.sum()) for each in cluster.evictions.evictable.counts(classes))


def test_a_pod_whose_eviction_is_refused_is_no_victim_until_it_is_allowed_again():
    low = pod(node="n1", priority=1)
    cluster = cluster_with(low)
    cluster.protect(low.metadata.uid)
    assert evictable(cluster) == 0
    cluster.protect(low.metadata.uid, protected=False)
    assert evictable(cluster) == 1


def test_a_pod_that_goes_while_its_eviction_is_refused_leaves_no_count_behind():
    """Such as one that is deleted by force: it is gone without ever having been seen to terminate."""
    low, other = pod("low", node="n1", priority=1), pod("other", node="n1", priority=1)
    cluster = cluster_with(low, other)
    cluster.protect(low.metadata.uid)
    cluster.remove_pod(low.metadata.uid)
    assert evictable(cluster) == 1


def test_shielded_pods_are_no_victims_within_the_block_only():
    low = pod(node="n1", priority=1)
    cluster = cluster_with(low)
    with cluster.shielded([low.metadata.uid, "gone"]):
        assert evictable(cluster) == 0
    assert evictable(cluster) == 1
