import pytest

from koordpy.plan.filters.taint_toleration import TaintToleration
from tests.builders import node, pod
from tests.plan.asking import cluster_of, preemptible, reasons, refused
from tests.plan.constraints import taint


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_taint_that_the_pod_does_not_tolerate_refuses_it(effect):
    cluster = cluster_of(node("clean"), node("tainted", taints=[taint("dedicated", "gpu", effect)]))
    assert reasons(TaintToleration(), pod(), cluster) == {"tainted": ["node(s) had untolerated taint(s)"]}


def test_a_prefer_no_schedule_taint_does_not_refuse():
    cluster = cluster_of(node(taints=[taint("dedicated", "gpu", "PreferNoSchedule")]))
    assert refused(TaintToleration(), pod(), cluster) == set()


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},
        {"key": "dedicated", "value": "gpu"},  # Equal is the default operator, and no effect means every effect
        {"key": "dedicated", "operator": "Exists"},
        {"operator": "Exists"},  # everything
    ],
)
def test_a_matching_toleration_accepts_the_pod(toleration):
    cluster = cluster_of(node(taints=[taint("dedicated", "gpu")]))
    assert refused(TaintToleration(), pod(tolerations=[toleration]), cluster) == set()


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": "dedicated", "operator": "Equal", "value": "batch"},
        {"key": "dedicated"},  # equal to the empty value
        {"key": "other", "operator": "Exists"},
        {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"},
        {"key": "dedicated", "operator": "Gt", "value": "gpu"},  # behind a feature gate in Kubernetes, and off
    ],
)
def test_a_toleration_that_does_not_match_refuses_the_pod(toleration):
    cluster = cluster_of(node(taints=[taint("dedicated", "gpu")]))
    assert refused(TaintToleration(), pod(tolerations=[toleration]), cluster) == {"n1"}


def test_every_taint_must_be_tolerated():
    cluster = cluster_of(node(taints=[taint("dedicated", "gpu"), taint("spot")]))
    one, both = [{"key": "spot", "operator": "Exists"}], [{"key": "spot"}, {"key": "dedicated", "value": "gpu"}]
    assert refused(TaintToleration(), pod(tolerations=one), cluster) == {"n1"}
    assert refused(TaintToleration(), pod(tolerations=both), cluster) == set()


def test_a_removed_taint_does_not_refuse_any_more():
    cluster = cluster_of(node(taints=[taint("dedicated", "gpu")]))
    assert refused(TaintToleration(), pod(), cluster) == {"n1"}
    cluster.upsert_node(node())
    assert refused(TaintToleration(), pod(), cluster) == set()


def test_evicting_pods_does_not_help_against_taints():
    assert preemptible(TaintToleration(), pod(), cluster_of(node(taints=[taint("spot")]))) == set()
