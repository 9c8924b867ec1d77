"""Whatever objects say: no controller makes a mistake or ends, others are served, and nothing of them is kept."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hostile.controlled import World, run, storage_of
from tests.hostile.objects import Values, of_definition, of_kind
from tests.hostile.workloads import KINDS, pods, workloads

pytestmark = pytest.mark.random

EXAMPLES = int(os.environ.get("HOSTILE", "3"))
hostile = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

DEFINED = [
    "podgroups.scheduling.sigs.k8s.io",
    "podgroups.scheduling.x-k8s.io",
    "podgroups.scheduling.run.ai",
    "queues.scheduling.run.ai",
    "queuejobs.arbitrator.incubator.k8s.io",
    "schedulingspecs.arbitrator.incubator.k8s.io",
    "clusternetworktopologies.scheduling.koordinator.sh",
]
_OTHERS = {"nodes": "nodes", "priority_classes": "priorityclasses.scheduling.k8s.io"}
Event = tuple[str, Any]


def survives(events: list[Event]) -> None:
    async def story(world: World) -> None:
        await world.serve()
        await world.dismiss()
        before = world.sizes()
        for storage, obj in events:
            await world.put(storage, obj)
        await world.serve()
        await world.remove_all()
        await world.dismiss()
        assert world.mistakes() == []
        kept = {name: size for name, size in world.sizes().items() if size > before.get(name, 0)}
        assert kept == {}, {name: before.get(name, 0) for name in kept}

    run(story)


def owned(kind: str) -> st.SearchStrategy[list[Event]]:
    """Workloads of a kind and pods of theirs, in a chain with other kinds."""
    kinds = [kind, kind, "Job", "RayCluster"]
    made = [st.tuples(st.just(storage_of(each)), workloads(each, kinds)) for each in kinds]
    owners = st.lists(st.one_of(made), min_size=1, max_size=4)
    pods_of_them = st.lists(st.tuples(st.just("pods"), pods(kinds)), min_size=1, max_size=4)
    return st.tuples(owners, pods_of_them, owners).map(lambda parts: [*parts[0], *parts[1], *parts[2]])


def named(storage: str) -> Values:
    return st.tuples(st.just(storage), of_definition(storage))


OTHERS = st.one_of([st.tuples(st.just(storage), of_kind(kind)) for kind, storage in _OTHERS.items()])
PODS = st.tuples(st.just("pods"), of_kind("pods") | pods(["QueueJob" if "QueueJob" in KINDS else "Job"]))


@pytest.mark.parametrize("kind", sorted(KINDS))
@hostile
@given(st.data())
def test_a_workload_of_any_content_stops_no_controller(kind: str, data: st.DataObject):
    survives(data.draw(owned(kind)))


@pytest.mark.parametrize("storage", DEFINED)
@hostile
@given(st.data())
def test_a_custom_resource_of_any_content_stops_no_controller(storage: str, data: st.DataObject):
    survives(data.draw(st.lists(named(storage) | PODS, min_size=1, max_size=6)))


@hostile
@given(st.lists(st.one_of(*map(named, DEFINED), OTHERS, PODS), max_size=10))
def test_objects_of_all_kinds_together_stop_no_controller(events: list[Event]):
    survives(events)
