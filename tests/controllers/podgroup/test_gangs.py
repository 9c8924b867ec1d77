"""Which events lead to a reconcile: each reconcile that is not made is CPU saved fifty thousand times."""

from __future__ import annotations

from typing import Any

import pytest

from koordpy.api.pod import Pod
from koordpy.api.podgroup.coscheduling import SIGS_GROUP, X_GROUP, PodGroup
from koordpy.controllers.podgroup.gangs import Gang, GangIndex, PodGroupKey
from koordpy.controllers.podgroup.kinds import KINDS
from tests.builders import Json, pod_json, typed, with_identity
from tests.controllers.world import MEMBER

CLOCK = 100.0


SIGS, X = (KINDS[f"{group}/v1alpha1"] for group in (SIGS_GROUP, X_GROUP))
G = PodGroupKey(SIGS.api_version, "default/g")


class Index:
    """An index that knows the PodGroup `default/g`, and the keys that it has added to the work queue since."""

    def __init__(self) -> None:
        self.added: list[PodGroupKey] = []
        self.now = CLOCK
        self.gangs = GangIndex(["koord-scheduler"], self.added.append, lambda: self.now)
        self.group(1)
        self.added.clear()

    def group(self, version: int, phase: str = "", uid: str = "u") -> None:
        self.gangs.upsert_pod_group(SIGS, pod_group(version, phase, uid))

    def pod(self, obj: Json) -> None:
        self.gangs.upsert(typed(obj, Pod))

    @property
    def gang(self) -> Gang:
        found = self.gangs.get("default/g")
        assert found is not None
        return found


def pod_group(version: int, phase: str = "", uid: str = "u", name: str = "g") -> PodGroup:
    meta = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": str(version)}
    return typed({"metadata": meta, "status": {"phase": phase}}, PodGroup)


def member(uid: str = "a", gang: str = "g", **given: Any) -> Json:
    obj = pod_json(uid, labels={MEMBER: gang}, **given)
    obj["metadata"]["uid"] = uid
    return with_identity(obj)


def test_a_change_that_no_status_shows_needs_no_reconcile():
    index = Index()
    index.pod(member())
    index.pod(member(cpu=3))
    assert index.added == [G]


@pytest.mark.parametrize("change", [{"node": "n"}, {"terminating": True}, {"owner": ("Job", "j")}], ids=str)
def test_a_change_that_a_status_shows_needs_a_reconcile(change):
    index = Index()
    index.pod(member())
    index.pod(member(**change))
    assert index.added == [G] * 2


def test_pods_of_no_gang_are_not_kept():
    index = Index()
    index.pod(with_identity(pod_json("a")))
    assert (index.added, len(index.gangs)) == ([], 1)


def test_members_are_kept_for_a_podgroup_that_comes_later_and_need_no_reconcile_until_then():
    index = Index()
    index.pod(member(gang="later"))
    assert index.added == []
    index.gangs.upsert_pod_group(X, pod_group(1, name="later"))
    assert index.added == [PodGroupKey(X.api_version, "default/later")]
    assert len(index.gangs.get("default/later").members) == 1


def test_a_gang_of_which_nothing_is_left_is_not_kept():
    index = Index()
    index.pod(member("a"))
    index.pod(member("b", scheduler="other"))
    for uid in ("a", "b"):
        index.gangs.remove(f"default/{uid}", uid)
    index.gangs.remove_pod_group(SIGS, "default/g")
    assert len(index.gangs) == 0


def test_our_own_write_needs_no_reconcile_neither_its_answer_nor_its_watch_event():
    index = Index()
    index.gangs.record_write(SIGS, pod_group(3, "Pending"))
    index.group(2, "older")
    index.group(3, "Pending")
    assert (index.added, index.gang.pod_groups[SIGS.api_version].status.phase) == ([], "Pending")
    index.group(4, "changed")
    assert index.added == [G]


def test_the_answer_to_a_write_is_ignored_when_the_podgroup_was_made_again():
    index = Index()
    index.group(5, "new", uid="another")
    index.gangs.record_write(SIGS, pod_group(3, "old"))
    assert index.gang.pod_groups[SIGS.api_version].status.phase == "new"


def test_a_pod_that_does_not_say_when_it_was_bound_was_bound_when_it_was_first_seen_so():
    index = Index()
    index.pod(member(node="n"))
    index.now += 60
    index.pod(member(node="n", owner=("Job", "j")))
    (found,) = index.gang.members.values()
    assert (found.bound_at, found.owners) == (CLOCK, "default/j")


@pytest.mark.parametrize(
    ("condition", "bound_at"),
    [
        ({"status": "True", "lastTransitionTime": "1970-01-01T00:01:00Z"}, 60.0),
        ({"status": "False", "lastTransitionTime": "1970-01-01T00:01:00Z"}, CLOCK),
        ({"status": "True", "lastTransitionTime": None}, CLOCK),
        ({"status": "True", "lastTransitionTime": "soon"}, CLOCK),
    ],
)
def test_a_pod_was_bound_when_its_condition_says_so(condition, bound_at):
    index = Index()
    index.pod(member(node="n") | {"status": {"conditions": [{"type": "PodScheduled", **condition}]}})
    (found,) = index.gang.members.values()
    assert found.bound_at == bound_at
