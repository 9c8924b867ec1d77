"""Label keys that selectors ask for: what one tenant invents costs the others nothing."""

from __future__ import annotations

from koordpy.state.cluster import Cluster
from tests.builders import node, pod
from tests.plan.constraints import affinity, pod_term, selector
from tests.scheduler.gangs.rig import GangRig, saying
from tests.scheduler.wakeups.rig import UNSCHEDULABLE

HOSTNAME = "kubernetes.io/hostname"


def with_selector(name: str, key: str):
    return pod(name, cpu=1, affinity=affinity(near=[pod_term(HOSTNAME, selector(**{key: "x"}))]))


def test_a_key_that_no_pod_carries_gives_nobody_another_shape():
    cluster = Cluster()
    cluster.upsert_node(node("n1"))
    other = cluster.upsert_pod(pod("other", labels={"app": "web"}))
    cluster.changes.take()
    shape = other.shape
    cluster.upsert_pod(with_selector("odd", "invented"))
    assert cluster.changes.take().reshaped == set()
    assert other.shape is shape


def test_keys_that_nobody_asks_for_or_carries_any_more_are_dropped():
    cluster = Cluster()
    for number in range(1000):
        cluster.upsert_pod(odd := with_selector(f"odd-{number}", f"invented-{number}"))
        cluster.remove_pod(odd.metadata.uid)
    assert len(cluster.shapes.selected_keys) < 200


def test_a_key_that_a_living_selector_asks_for_is_kept():
    cluster = Cluster()
    cluster.upsert_pod(with_selector("asks", "team"))
    for number in range(1000):
        cluster.upsert_pod(odd := with_selector(f"odd-{number}", f"invented-{number}"))
        cluster.remove_pod(odd.metadata.uid)
    late = cluster.upsert_pod(pod("late", labels={"team": "x"}))
    assert late.shape.labels == {"team": "x"}


def test_a_selector_with_a_new_key_wakes_no_gang():
    rig = GangRig()
    rig.node("n1", cpu=1)
    for number in range(2):
        rig.member(f"a-{number}", says=saying("a", 2), labels={"team": "x"})
    rig.settle()
    ticket = rig.queue.get("default/a")
    since = ticket.unschedulable_since
    rig.hand_clock.now += 60
    rig.pod("asks", cpu=9, affinity=affinity(near=[pod_term(HOSTNAME, selector(team="x"))]))
    rig.settle()
    assert (ticket.state, ticket.unschedulable_since) == (UNSCHEDULABLE, since)
