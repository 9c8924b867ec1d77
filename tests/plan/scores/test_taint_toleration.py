from koordpy.plan.scores.taint_toleration import TaintToleration
from tests.builders import node, pod
from tests.plan.asking import cluster_of, scores
from tests.plan.constraints import taint


def discouraging(*keys):
    return [taint(key, effect="PreferNoSchedule") for key in keys]


def test_the_fewer_discouraging_taints_the_better():
    cluster = cluster_of(
        node("none"), node("one", taints=discouraging("a")), node("three", taints=discouraging("a", "b", "c"))
    )
    assert scores(TaintToleration(), pod(), cluster) == {"none": 100, "one": 67, "three": 0}


def test_tolerated_taints_do_not_discourage():
    cluster = cluster_of(node("one", taints=discouraging("a")), node("two", taints=discouraging("a", "b")))
    tolerant = pod(tolerations=[{"key": "a", "operator": "Exists"}])
    assert scores(TaintToleration(), tolerant, cluster) == {"one": 100, "two": 0}


def test_a_toleration_of_another_effect_does_not_help():
    cluster = cluster_of(node("none"), node("one", taints=discouraging("a")))
    tolerant = pod(tolerations=[{"key": "a", "operator": "Exists", "effect": "NoSchedule"}])
    assert scores(TaintToleration(), tolerant, cluster) == {"none": 100, "one": 0}


def test_without_such_taints_all_nodes_are_equally_good():
    cluster = cluster_of(node("plain"), node("strict", taints=[taint("a")]))
    assert scores(TaintToleration(), pod(), cluster) == {"plain": 100, "strict": 100}
