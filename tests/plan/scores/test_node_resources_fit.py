from koordpy.plan.scores.node_resources_fit import NodeResourcesFit, least_allocated, most_allocated, ratio
from koordpy.plan.scores.resource_weights import ResourceWeight
from tests.builders import node, pod
from tests.plan.asking import cluster_of, scores


def test_the_emptier_the_node_would_be_the_better():
    cluster = cluster_of(node("small", cpu=4, memory="4Gi"), node("large", cpu=8, memory="16Gi"))
    # small: 3/4 of the CPU and 1/2 of the memory stay free; large: 7/8 and 7/8
    assert scores(NodeResourcesFit(), pod(cpu=1, memory="2Gi"), cluster) == {"small": 62, "large": 87}


def test_pods_that_are_there_count():
    cluster = cluster_of(node(cpu=4, memory="4Gi"), pod("a", cpu=2, memory="1Gi", node="n1"))
    assert scores(NodeResourcesFit(), pod("b", cpu=1, memory="1Gi"), cluster) == {"n1": (25 + 50) // 2}


def test_pods_without_requests_count_a_little():
    cluster = cluster_of(node(cpu=1, memory="1000Mi"), pod("a", node="n1"), pod("b", node="n1"))
    assert scores(NodeResourcesFit(), pod("c"), cluster) == {"n1": (70 + 40) // 2}


def test_an_overcommitted_resource_scores_nothing_and_not_less():
    cluster = cluster_of(node(cpu=1, memory="4Gi"), pod("a", cpu=8, memory="1Gi", node="n1"))
    assert scores(NodeResourcesFit(), pod("b", cpu=1, memory="1Gi"), cluster) == {"n1": 25}


def test_a_resource_that_the_node_lacks_does_not_count():
    cluster = cluster_of(node("no-memory", cpu=4, memory="0"), node("nothing", cpu=0, memory="0"))
    assert scores(NodeResourcesFit(), pod(cpu=1), cluster) == {"no-memory": 75, "nothing": 0}


def test_most_allocated_prefers_full_nodes():
    cluster = cluster_of(node("full", cpu=4), node("empty", cpu=4), pod("a", cpu=2, memory="16Gi", node="full"))
    assert scores(NodeResourcesFit(most_allocated), pod("b", cpu=1, memory="8Gi"), cluster) == {"full": 75, "empty": 25}


def test_weights_say_how_much_each_resource_counts():
    cluster = cluster_of(node(cpu=4, memory="4Gi", nvidia__com_gpu=8))
    weights = (ResourceWeight("cpu", 1), ResourceWeight("nvidia.com/gpu", 3))
    score = NodeResourcesFit(least_allocated, weights)
    assert scores(score, pod(cpu=2, nvidia__com_gpu=2), cluster) == {"n1": (50 + 3 * 75) // 4}
    assert scores(score, pod(cpu=2), cluster) == {"n1": 50}  # GPUs that nobody asks for do not count


def test_a_curve_is_straight_between_its_points():
    score = NodeResourcesFit(ratio(((0, 0), (50, 10), (100, 0))), (ResourceWeight("cpu", 1),), is_ratio=True)
    found = {cpu: scores(score, pod(cpu=cpu), cluster_of(node(cpu=8)))["n1"] for cpu in (1, 4, 6)}
    assert found == {1: 24, 4: 100, 6: 50}  # 12 % used, and 2 points for each percent
