"""The check at the end of a live run: it must not believe a scheduler that overcommits, or leaves pods out."""

from bench.live.verdict import problems_of
from bench.live.workloads import Json


def _node(name: str, cpu: str = "1") -> Json:
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu, "memory": "1Gi", "pods": "3"}}}


def _pod(name: str, cpu: str = "500m", node: str = "") -> Json:
    requests = {"cpu": cpu, "memory": "256Mi"}
    spec = {"containers": [{"resources": {"requests": requests}}]} | ({"nodeName": node} if node else {})
    return {"metadata": {"name": name}, "spec": spec}


def test_a_cluster_that_is_full_to_the_last_bit_is_right():
    assert problems_of([_node("n1")], [_pod("a", node="n1"), _pod("b", node="n1")], must_bind=2) == []


def test_an_overcommitted_node_is_named():
    pods = [_pod(name, node="n1") for name in "abc"]
    assert problems_of([_node("n1")], pods, must_bind=3) == ["n1 is overcommitted: 500 thousandths of cpu too many"]


def test_more_pods_than_a_node_takes_are_too_many():
    pods = [_pod(name, cpu="1m", node="n1") for name in "abcd"]
    assert problems_of([_node("n1")], pods, must_bind=4) == ["n1 is overcommitted: 1000 thousandths of pods too many"]


def test_a_pod_that_waits_though_it_fits_is_named():
    found = problems_of([_node("n1")], [_pod("a", node="n1"), _pod("b")], must_bind=2)
    assert found == ["1 pods wait that fit, b among them", "1 pods are bound, of 2 that fit"]


def test_a_pod_that_waits_because_it_fits_nowhere_is_right():
    assert problems_of([_node("n1")], [_pod("a", node="n1"), _pod("b", cpu="2")], must_bind=1) == []


def test_a_node_that_does_not_exist_holds_nothing():
    assert problems_of([_node("n1")], [_pod("a", node="n2")], must_bind=1) == [
        "n2 does not exist, and pods are bound to it"
    ]
