"""The check at the end of a live run: no scheduler is believed that overcommits, splits gangs or evicts too many."""

from bench.live.objects import Gang, Json
from bench.live.verdict import broken, missing, needless, overcommitted, overcommitted_once, partial
from bench.live.workload import PROBE, Workload

PAIR = Workload("w", (), (Gang("a", 2), Gang("giant", 3)), never=frozenset(("giant",)))


def _node(name: str, cpu: str = "1") -> Json:
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu, "memory": "1Gi", "pods": "3"}}}


def _pod(name: str, cpu: str = "500m", node: str = "") -> Json:
    requests = {"cpu": cpu, "memory": "256Mi"}
    spec = {"containers": [{"resources": {"requests": requests}}]} | ({"nodeName": node} if node else {})
    return {"metadata": {"name": name}, "spec": spec}


def test_a_node_that_is_exactly_full_is_right():
    assert overcommitted([_node("n1")], [_pod("a", node="n1"), _pod("b", node="n1"), _pod("waiting")]) == []


def test_an_overcommitted_node_is_named():
    pods = [_pod(name, node="n1") for name in "abc"]
    assert overcommitted([_node("n1")], pods) == ["n1 is overcommitted: 500 thousandths of cpu too many"]


def test_more_pods_than_a_node_takes_are_too_many():
    pods = [_pod(name, cpu="1m", node="n1") for name in "abcd"]
    assert overcommitted([_node("n1")], pods) == ["n1 is overcommitted: 1000 thousandths of pods too many"]


def test_amounts_are_read_as_the_api_server_shortens_them():
    node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "192", "memory": "1Ti", "pods": "3"}}}
    pod = {"metadata": {"name": "a"}, "spec": {"nodeName": "n1", "containers": [{"resources": {"requests": {}}}]}}
    pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "192000m", "memory": "1024Gi"}
    assert overcommitted([node], [pod]) == []


def test_a_node_that_does_not_exist_holds_nothing():
    assert overcommitted([_node("n1")], [_pod("a", node="n2")]) == ["n2 does not exist, and pods are bound to it"]


def test_a_node_that_was_overcommitted_for_a_moment_is_named():
    running = Gang("old", 1, requests={"cpu": "1"}, on=("n1",))
    workload = Workload("w", (_node("n1"),), (Gang("new", 1, requests={"cpu": "1"}),), running=(running,))
    nodes = {"old-0000": "n1", "new-0000": "n1"}
    assert overcommitted_once(workload, [("-", "old-0000"), ("+", "new-0000")], nodes) == []
    assert overcommitted_once(workload, [("+", "new-0000"), ("-", "old-0000")], nodes) == [
        "n1 held more than it has when new-0000 was bound to it"
    ]


def test_every_pod_that_fits_must_have_a_node():
    assert missing(PAIR, {"a-0000": "n1", "a-0001": "n1", PROBE.member_names()[0]: "n1"}) == []
    assert missing(PAIR, {"a-0000": "n1"}) == ["1 of 2 pods that fit have no node, a-0001 among them"]


def test_a_gang_that_cannot_fit_must_have_none():
    nodes = {"a-0000": "n1", "a-0001": "n1", "giant-0002": "n1"}
    assert missing(PAIR, nodes) == ["1 pods have a node that should not, giant-0002 among them"]


def test_a_gang_in_part_is_named_and_a_whole_one_is_not():
    assert partial(PAIR, {"a-0000": "n1", "a-0001": "n2"}) == []
    assert partial(PAIR, {"a-0000": "n1", "a-0001": "n2", "giant-0000": "n1"}) == [
        "1 gangs are bound in part: giant has 1 of 3"
    ]


def test_members_of_an_app_may_be_bound_one_by_one():
    assert partial(Workload("w", (), (Gang("app", 2, all_or_nothing=False),)), {"app-0000": "n1"}) == []


def test_a_running_gang_that_lost_some_members_is_named_and_one_that_lost_all_is_not():
    running = (Gang("a", 2, on=("n1", "n2")), Gang("b", 2, on=("n1", "n2")))
    workload = Workload("w", (), (), running=running)
    assert broken(workload, {"a-0000", "a-0001"}) == []
    assert broken(workload, {"a-0000", "a-0001", "b-0001"}) == [
        "1 running gangs are left in part: b has 1 of 2 left",
    ]


def test_necessary_evictions_are_right_and_more_are_not():
    workload = Workload("w", (), (), least_evictions=2)
    assert needless(workload, 2) == []
    assert needless(workload, 3) == ["3 pods were evicted, of 2 that had to be"]
