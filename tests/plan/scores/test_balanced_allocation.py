from koordpy.plan.scores.balanced_allocation import BalancedAllocation
from tests.builders import node, pod
from tests.plan.asking import cluster_of, scores


def test_a_pod_that_changes_nothing_about_the_balance_scores_75():
    assert scores(BalancedAllocation(), pod(cpu=1, memory="1Gi"), cluster_of(node(cpu=4, memory="4Gi"))) == {"n1": 75}


def test_a_pod_that_improves_the_balance_scores_more_and_one_that_worsens_it_less():
    uneven = pod("a", cpu=4, node="uneven")
    cluster = cluster_of(node("uneven", cpu=8, memory="8Gi"), node("empty", cpu=8, memory="8Gi"), uneven)
    # uneven: from half the CPU and none of the memory (75) to half of both (100); empty: from 100 to 75
    assert scores(BalancedAllocation(), pod("b", memory="4Gi"), cluster) == {"uneven": 87, "empty": 62}


def test_an_overcommitted_resource_counts_as_full():
    cluster = cluster_of(node(cpu=1, memory="4Gi"), pod("a", cpu=8, memory="4Gi", node="n1"))
    assert scores(BalancedAllocation(), pod("b", cpu=8), cluster) == {"n1": 75}


def test_a_pod_without_requests_is_not_scored():
    cluster = cluster_of(node("uneven"), node("empty"), pod("a", cpu=4, node="uneven"))
    assert scores(BalancedAllocation(), pod("b"), cluster) == {"uneven": 0, "empty": 0}


def test_a_resource_that_the_node_lacks_does_not_count_for_the_balance():
    assert scores(BalancedAllocation(), pod(cpu=2), cluster_of(node(cpu=4, memory="0"))) == {"n1": 75}


def test_three_resources_are_compared_by_their_deviation():
    balanced = BalancedAllocation(("cpu", "memory", "nvidia.com/gpu"))
    cluster = cluster_of(node(cpu=4, memory="4Gi", nvidia__com_gpu=4))
    # shares of 1/2, 1/2 and 1 deviate by the root of 1/18
    assert scores(balanced, pod(cpu=2, memory="2Gi", nvidia__com_gpu=4), cluster) == {"n1": 50 + (50 + 76 - 100) // 2}
