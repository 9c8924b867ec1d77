"""Whatever an object says: nothing of ours raises, the loop goes on, and nothing is left when the object is gone."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from koordpy.api.errors import MalformedObject
from koordpy.app.journal.deliveries import DECODERS, sink_of, without_foreign_values
from koordpy.plan.framework.profiles import default_profile
from tests.hostile.objects import of_definition, of_kind
from tests.scheduler.wakeups.rig import SCHEDULER, Rig

pytestmark = pytest.mark.random

EXAMPLES = int(os.environ.get("HOSTILE", "3"))
MOST_ATTEMPTS = 300
MIXTURE = ("pods", "pods", "pods", "nodes", "queues", "topologies", "budgets", "services", "priority_classes")
DEFINED = {  # by the kind that reads them
    "gang_objects/scheduling.sigs.k8s.io/v1alpha1": "podgroups.scheduling.sigs.k8s.io",
    "gang_objects/scheduling.x-k8s.io/v1alpha1": "podgroups.scheduling.x-k8s.io",
    "gang_objects/scheduling.run.ai/v2alpha2": "podgroups.scheduling.run.ai",
    "gang_objects/arbitrator.incubator.k8s.io/v1alpha1": "schedulingspecs.arbitrator.incubator.k8s.io",
    "queues": "queues.scheduling.run.ai",
    "topologies": "clusternetworktopologies.scheduling.koordinator.sh",
}
EVENTS = st.sampled_from([*MIXTURE, *DEFINED]).flatmap(lambda kind: st.tuples(st.just(kind), of_kind(kind)))
hostile = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


class Victim:
    """A scheduler with a tenant who wants one small pod to run, and hostile neighbours."""

    def __init__(self) -> None:
        self.rig = Rig(default_profile(SCHEDULER))
        self._there: dict[tuple[str, str], str] = {}
        self.rig.node("good", cpu=8)

    def hear(self, kind: str, obj: Any) -> None:
        try:
            raw = msgspec.json.encode(obj)
            decoded = without_foreign_values(DECODERS[kind](raw))
        except MalformedObject:
            return
        except (OverflowError, UnicodeEncodeError):  # no JSON of any API server
            return
        sink, key, uid = sink_of(self.rig.built.sinks, kind), decoded.metadata.key, decoded.metadata.uid
        if self._there.get((kind, key), uid) != uid:  # as a reflector does it
            sink.remove(key, self._there[kind, key])
        sink.upsert(decoded)
        self._there[kind, key] = uid
        self._settle()

    def forget_all(self) -> None:
        for (kind, key), uid in self._there.items():
            sink_of(self.rig.built.sinks, kind).remove(key, uid)
        self._settle()

    def _settle(self) -> None:
        self.rig.built.sinks.settle_queues()
        self.rig.built.sinks.settle_pods()

    def work(self) -> None:
        """As the loop does, until there is nothing to do: that comes, or an object keeps us busy for ever."""
        for _ in range(MOST_ATTEMPTS):
            self.rig.scheduler.time_out()
            ticket = self.rig.scheduler.next_ticket()
            if ticket is None:
                return
            self.rig.scheduler.attempts.run(ticket)
        raise AssertionError("no rest")


def survives(events: list[tuple[str, Any]]) -> None:
    with capture_logs() as logs:
        victim = Victim()
        for kind, obj in events:
            victim.hear(kind, obj)
            victim.work()
        victim.rig.hand_clock.now += 1000
        victim.work()
        victim.forget_all()
        victim.rig.pod("mine", cpu=1)
        for _ in range(5):
            victim.rig.hand_clock.now += 100
            victim.work()
    assert not [entry for entry in logs if entry["log_level"] == "error"], logs
    assert victim.rig.where("mine") == "good"
    assert sorted(victim.rig.cluster.pods) == ["u-mine"]
    assert list(victim.rig.cluster.gangs) == []


@pytest.mark.parametrize("kind", sorted(DECODERS))
@hostile
@given(st.data())
def test_a_hostile_object_stops_nothing_and_leaves_nothing(kind: str, data: st.DataObject):
    events = [("pods", data.draw(of_kind("pods"))), (kind, data.draw(of_kind(kind))), (kind, data.draw(of_kind(kind)))]
    survives([*events, ("pods", data.draw(of_kind("pods")))])


@pytest.mark.parametrize("kind", sorted(DEFINED))
@hostile
@given(st.data())
def test_a_custom_resource_of_any_content_stops_nothing(kind: str, data: st.DataObject):
    objects = data.draw(st.lists(of_definition(DEFINED[kind]), min_size=1, max_size=3))
    survives([*((kind, obj) for obj in objects), ("pods", data.draw(of_kind("pods")))])


@hostile
@given(st.lists(EVENTS, max_size=10))
def test_hostile_objects_of_all_kinds_together_stop_nothing(events: list[tuple[str, Any]]):
    survives(events)


@pytest.mark.parametrize("kind", sorted(DECODERS))
@hostile
@given(st.data())
def test_what_the_journal_has_of_an_object_is_the_object(kind: str, data: st.DataObject):
    decode = DECODERS[kind]
    try:
        obj = without_foreign_values(decode(msgspec.json.encode(data.draw(of_kind(kind)))))
    except (MalformedObject, OverflowError, UnicodeEncodeError):
        return
    assert decode(msgspec.json.encode(obj)) == obj
