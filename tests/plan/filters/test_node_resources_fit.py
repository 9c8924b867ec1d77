from koordpy.plan.filters.node_resources_fit import NodeResourcesFit
from tests.builders import node, pod
from tests.plan.asking import cluster_of, preemptible, reasons, refused


def test_every_resource_that_does_not_fit_is_named():
    cluster = cluster_of(node(cpu=1, memory="1Gi", nvidia__com_gpu=1))
    greedy = pod(cpu=2, memory="2Gi", ephemeral_storage="1Gi", nvidia__com_gpu=2)
    assert sorted(reasons(NodeResourcesFit(), greedy, cluster)["n1"]) == [
        "Insufficient cpu",
        "Insufficient ephemeral-storage",
        "Insufficient memory",
        "Insufficient nvidia.com/gpu",
    ]


def test_what_is_free_is_what_pods_on_the_node_leave():
    cluster = cluster_of(node(cpu=4), pod("a", cpu="2500m", node="n1"))
    assert refused(NodeResourcesFit(), pod("b", cpu="1500m"), cluster) == set()
    assert refused(NodeResourcesFit(), pod("c", cpu="1501m"), cluster) == {"n1"}


def test_a_full_node_takes_no_pod_however_small():
    cluster = cluster_of(node(pods=1), pod("a", node="n1"))
    assert reasons(NodeResourcesFit(), pod("b"), cluster) == {"n1": ["Too many pods"]}


def test_a_resource_that_the_pod_does_not_ask_for_is_not_checked():
    cluster = cluster_of(node(cpu=1), pod("a", cpu=8, node="n1"))
    assert refused(NodeResourcesFit(), pod("b", cpu=0, memory="1Gi"), cluster) == set()


def test_a_node_without_a_resource_has_none_of_it():
    assert reasons(NodeResourcesFit(), pod(nvidia__com_gpu=1), cluster_of(node())) == {
        "n1": ["Insufficient nvidia.com/gpu"]
    }


def test_every_resource_that_no_node_has_is_named():
    greedy = pod(cpu=1, example__com_a=2, example__com_b=1)
    assert sorted(reasons(NodeResourcesFit(), greedy, cluster_of(node()))["n1"]) == [
        "Insufficient example.com/a",
        "Insufficient example.com/b",
    ]


def test_evicting_pods_does_not_help_for_a_resource_that_no_node_has():
    cluster = cluster_of(node(), pod("a", node="n1", example__com_a=1))
    assert preemptible(NodeResourcesFit(), pod("b", example__com_a=1), cluster) == set()


def test_a_node_that_gets_a_resource_that_none_had_is_filtered_again():
    fit, cluster, asking = NodeResourcesFit(), cluster_of(node("n1"), node("n2")), pod(example__com_a=1)
    assert refused(fit, asking, cluster) == {"n1", "n2"}
    cluster.upsert_node(node("n2", example__com_a=1))
    assert refused(fit, asking, cluster) == {"n1"}


def test_evicting_pods_helps_where_the_node_is_large_enough():
    cluster = cluster_of(node("large", cpu=4), node("small", cpu=1), pod("a", cpu=4, node="large"))
    assert preemptible(NodeResourcesFit(), pod("b", cpu=2), cluster) == {"large"}


def test_evicting_pods_does_not_help_when_only_some_of_the_resources_could_be_freed():
    cluster = cluster_of(node(cpu=4, memory="1Gi"), pod("a", cpu=4, node="n1"))
    assert preemptible(NodeResourcesFit(), pod("b", cpu=2, memory="2Gi"), cluster) == set()


def test_ignored_resources_and_groups_are_not_checked():
    cluster = cluster_of(node())
    asking = pod(example__com_a=1, example__org_b=1)
    by_name, by_group = (
        NodeResourcesFit(frozenset({"example.com/a"})),
        NodeResourcesFit(ignored_groups=frozenset({"example.com", "example.org"})),
    )
    assert reasons(by_name, asking, cluster) == {"n1": ["Insufficient example.org/b"]}
    assert refused(by_group, asking, cluster) == set()
