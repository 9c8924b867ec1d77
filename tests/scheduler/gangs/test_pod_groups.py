"""What is news about a PodGroup, and what is not."""

from __future__ import annotations

import pytest

from koordpy.api.podgroup.coscheduling import SIGS_GROUP, PodGroup, gang_object_of
from koordpy.state.changes import ChangeLog
from koordpy.state.gangs.spec import GangDefaults
from koordpy.state.gangs.table import GangTable
from tests.builders import typed


def pod_group(minimum: int = 2, uid: str = "u1", phase: str = "", **annotations: str) -> PodGroup:
    meta = {"name": "a", "namespace": "default", "uid": uid, "annotations": annotations}
    return typed({"metadata": meta, "spec": {"minMember": minimum}, "status": {"phase": phase}}, PodGroup)


def told(first: PodGroup, second: PodGroup) -> bool:
    changes = ChangeLog()
    gangs = GangTable((), GangDefaults(), changes)
    gangs.set_object(SIGS_GROUP, "default/a", gang_object_of(SIGS_GROUP, first))
    changes.take()
    gangs.set_object(SIGS_GROUP, "default/a", gang_object_of(SIGS_GROUP, second))
    return bool(changes)


@pytest.mark.parametrize("other", [pod_group(phase="Running"), pod_group(**{"koordpy.io/placement": "{}"})])
def test_what_we_write_ourselves_is_no_news(other: PodGroup):
    assert not told(pod_group(), other)


@pytest.mark.parametrize(
    "other",
    [pod_group(minimum=1), pod_group(uid="u2"), pod_group(**{"gang.scheduling.koordinator.sh/mode": "NonStrict"})],
)
def test_what_changes_the_gang_is_news(other: PodGroup):
    assert told(pod_group(), other)
