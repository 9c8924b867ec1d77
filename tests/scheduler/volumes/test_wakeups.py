"""A pod that was refused for its volumes is tried again when the very thing changes that it was refused for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.app.build import build_scheduler
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.pods import plan
from tests.builders import node
from tests.scheduler.volumes.asking import PROFILE
from tests.scheduler.volumes.objects import (
    DRIVER,
    attachment,
    capacity,
    claim,
    csi_driver,
    csi_node,
    pod_with,
    storage_class,
    volume,
)

ZONE = "topology.kubernetes.io/zone"
OWNED = pod_with(ephemeral=["scratch"])


class Watching:
    """A picture, a queue, and the intakes between them and the watches."""

    def __init__(self, *objects: Any) -> None:
        built = build_scheduler(Settings(), cast("Client", None), clock=lambda: 0.0, wall=lambda: 0.0)
        self.cluster, self.queue, self._sinks, self._next = (
            built.cluster, built.queue, built.sinks, built.scheduler.next_ticket,
        )  # fmt: skip
        self.told(*objects)

    def told(self, *objects: Any) -> None:
        for each in objects:
            self._intake(type(each)).upsert(each)
        self._sinks.settle_pods()

    def gone(self, *objects: Any) -> None:
        for each in objects:
            self._intake(type(each)).remove(each.metadata.key, each.metadata.uid)
        self._sinks.settle_pods()

    def _intake(self, kind: type) -> Any:
        if kind in (Pod, Node):
            return self._sinks.pods if kind is Pod else self._sinks.nodes
        return self._sinks.storage[kind.__name__]

    def attempt(self) -> Plan | Refusal | None:
        """Try the next job, if one is ready; a refused one sleeps until its cure."""
        ticket = self._next()
        if ticket is None:
            return None
        answer = plan(Job(ticket.key, (self.cluster.pods[ticket.key],)), self.cluster, PROFILE)
        if isinstance(answer, Refusal):
            self.queue.add_unschedulable(ticket, answer)
        else:
            self.queue.done(ticket)
        return answer


def bound(name: str = "data", **arguments: Any) -> tuple[Any, Any]:
    return claim(name, bound_to=f"pv-{name}"), volume(f"pv-{name}", claim=name, **arguments)


Change = Callable[[Watching], None]


def appears(*objects: Any) -> Change:
    return lambda watching: watching.told(*objects)


def leaves(*objects: Any) -> Change:
    return lambda watching: watching.gone(*objects)


MADE = storage_class("fast", provisioner=DRIVER)
WANTED = claim(storage_class="fast")
CSI = bound("old", csi="old")
USER = pod_with("old", name="user", node="n1")
LINGERING = attachment("pv-old")
ALONE = claim(bound_to="pv-data", modes=["ReadWriteOncePod"])
FIRST = pod_with("data", name="first", node="n1")
STALE = claim("p1-scratch", owner="somebody else", bound_to="pv")

CASES: dict[str, tuple[list[Any], Change]] = {
    "the claim that was missing": ([bound()[1]], appears(bound()[0])),
    "the claim that replaces one on its way out": (
        [claim(bound_to="pv-data", deleting=True), bound()[1]],
        appears(bound()[0]),
    ),
    "the claim that found its volume again": (
        [claim(bound_to="pv-data", phase="Lost"), bound()[1]],
        appears(bound()[0]),
    ),
    "the claim that the controller has bound": ([claim(storage_class="eager"), bound()[1]], appears(bound()[0])),
    "the class that says that the claim waits for us": ([claim(), volume()], appears(storage_class())),
    "the volume that was missing": ([bound()[0]], appears(bound()[1])),
    "a volume that fits": ([claim(), storage_class()], appears(volume())),
    "a volume that becomes available": ([claim(), storage_class(), volume(phase="Pending")], appears(volume())),
    "a class that allows the node": (
        [storage_class("fast", provisioner=DRIVER, zones=["a"]), WANTED],
        appears(MADE),
    ),
    "a claim that is no longer provisioned for another node": (
        [claim(storage_class="fast", selected_node="gone"), MADE],
        appears(WANTED),
    ),
    "a driver that reports more room": (
        [WANTED, MADE, csi_driver(), capacity(capacity="1Mi")],
        appears(capacity(capacity="9Gi")),
    ),
    "a driver that no longer reports": ([WANTED, MADE, csi_driver()], appears(csi_driver(tracks_capacity=False))),
    "a node that reaches the volume": (bound(nodes=["n2"]), appears(node("n2"))),
    "a node that is labelled as the volume wants": (
        bound(nodes=["n2"]),
        appears(node("n1", labels={"kubernetes.io/hostname": "n2"})),
    ),
    "a volume in the right zone": (
        [*bound(labels={ZONE: "a"}), node("n1", labels={ZONE: "b"})],
        appears(bound(labels={ZONE: "a__b"})[1]),
    ),
    "a node in the right zone": (
        [*bound(labels={ZONE: "a"}), node("n1", labels={ZONE: "b"})],
        appears(node("n1", labels={ZONE: "a"})),
    ),
    "a limit that was raised": (
        [*CSI, *bound(csi="new"), USER, csi_node(limit=1)],
        appears(csi_node(limit=2)),
    ),
    "a limit that was lifted": ([*bound(csi="new"), csi_node(limit=0)], leaves(csi_node(limit=0))),
    "an attachment that ended": ([*CSI, *bound(csi="new"), LINGERING, csi_node(limit=1)], leaves(LINGERING)),
    "a pod that left with its volume": ([*CSI, *bound(csi="new"), USER, csi_node(limit=1)], leaves(USER)),
    "the one pod that may use the claim leaving": ([ALONE, bound()[1], FIRST], leaves(FIRST)),
}


@pytest.mark.parametrize(("there", "change"), CASES.values(), ids=CASES)
def test_a_pod_is_woken_by(there: list[Any], change: Change) -> None:
    watching = Watching(node("n1"), *there, pod_with("data"))
    assert isinstance(watching.attempt(), Refusal)
    assert watching.attempt() is None, "it sleeps"
    change(watching)
    assert isinstance(watching.attempt(), Plan)


EPHEMERAL: dict[str, tuple[list[Any], list[Change]]] = {
    "the claim that was made for it": ([], [appears(claim("p1-scratch", owner=OWNED.metadata.uid, bound_to="pv"))]),
    "its own claim in the place of a stranger's": (
        [STALE],
        [leaves(STALE), appears(claim("p1-scratch", owner=OWNED.metadata.uid, bound_to="pv"))],
    ),
}


@pytest.mark.parametrize(("there", "changes"), EPHEMERAL.values(), ids=EPHEMERAL)
def test_a_pod_with_an_ephemeral_volume_is_woken_by(there: list[Any], changes: list[Change]) -> None:
    watching = Watching(node("n1"), volume("pv", claim="p1-scratch"), *there, OWNED)
    assert isinstance(watching.attempt(), Refusal)
    for change in changes:
        change(watching)
    assert isinstance(watching.attempt(), Plan)


def test_a_pod_that_waits_for_a_volume_is_woken_when_another_gives_back_the_promise() -> None:
    watching = Watching(node("n1"), claim("a"), claim("b"), storage_class(), volume())
    first = pod_with("a", name="first")
    watching.told(first)
    planned = watching.attempt()
    assert isinstance(planned, Plan)
    watching.cluster.assume(first.metadata.uid, planned.placements[0].node, planned.placements[0].volumes)
    watching.told(pod_with("b", name="second"))
    assert isinstance(watching.attempt(), Refusal)
    watching.gone(first)
    assert isinstance(watching.attempt(), Plan)


def test_an_unrelated_pod_that_leaves_wakes_nobody_who_lacks_a_claim() -> None:
    stranger = pod_with(name="stranger", node="n1")
    watching = Watching(node("n1"), stranger, pod_with("data"))
    assert isinstance(watching.attempt(), Refusal)
    watching.gone(stranger)
    assert watching.attempt() is None
