"""The tree over the node columns follows labels, and is not built anew for anything else."""

from tests.builders import node
from tests.plan.constraints import taint
from tests.plan.trees import ONE, labels_of, tree


def test_the_tree_follows_the_labels_of_nodes():
    cluster = tree(("s1/b1", "n1", ONE), ("s1/b1", "n2", ONE))
    assert cluster.topology.levels[1].names == ("s1",)
    cluster.upsert_node(node("n2", labels=labels_of("s2/b1")))
    assert [level.paths for level in cluster.topology.levels[1:3]] == [
        (("s1",), ("s2",)),
        (("s1", "b1"), ("s2", "b1")),
    ]
    cluster.remove_node("n1")
    assert cluster.topology.levels[1].names == ("s2",)


def test_taints_images_and_usage_do_not_cost_a_new_tree():
    cluster = tree(("s1/b1", "n1", ONE))
    before = cluster.topology.levels
    cluster.upsert_node(
        node("n1", labels=labels_of("s1/b1"), cpu=2, taints=[taint("k")], images={"example.com/image:1": 9})
    )
    assert cluster.topology.levels is before
