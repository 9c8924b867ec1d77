"""What is news to the roster, and what is not: each look that is not made is CPU saved fifty thousand times."""

from __future__ import annotations

from typing import Any

import pytest

from koordpy.api.podgroup import SIGS_GROUP, X_GROUP, PodGroup
from koordpy.controllers.podgroup.gangs import Gang, Roster
from koordpy.controllers.podgroup.members import GangPod
from tests.builders import Json, pod_json, typed, with_identity
from tests.controllers.world import MEMBER

CLOCK = 100.0


class Told:
    """A roster that has heard of the PodGroup `default/g`, and what it has called news since."""

    def __init__(self) -> None:
        self.news: list[str] = []
        self.now = CLOCK
        self.roster = Roster(["koord-scheduler"], self.news.append, lambda: self.now)
        self.group(1)
        self.news.clear()

    def group(self, version: int, phase: str = "", uid: str = "u") -> None:
        self.roster.put(SIGS_GROUP, pod_group(version, phase, uid))

    def pod(self, obj: Json) -> None:
        self.roster.upsert(typed(obj, GangPod))

    @property
    def gang(self) -> Gang:
        found = self.roster.get("default/g")
        assert found is not None
        return found


def pod_group(version: int, phase: str = "", uid: str = "u", name: str = "g") -> PodGroup:
    meta = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": str(version)}
    return typed({"metadata": meta, "status": {"phase": phase}}, PodGroup)


def member(uid: str = "a", gang: str = "g", **given: Any) -> Json:
    obj = pod_json(uid, labels={MEMBER: gang}, **given)
    obj["metadata"]["uid"] = uid
    return with_identity(obj)


def test_a_change_that_no_status_shows_is_no_news():
    told = Told()
    told.pod(member())
    told.pod(member(cpu=3))
    assert told.news == ["default/g"]


@pytest.mark.parametrize("change", [{"node": "n"}, {"terminating": True}, {"owner": ("Job", "j")}], ids=str)
def test_a_change_that_a_status_shows_is_news(change):
    told = Told()
    told.pod(member())
    told.pod(member(**change))
    assert told.news == ["default/g"] * 2


def test_pods_of_no_gang_are_forgotten_at_once():
    told = Told()
    told.pod(with_identity(pod_json("a")))
    assert (told.news, len(list(told.roster))) == ([], 1)


def test_members_are_kept_for_a_podgroup_that_comes_later_and_are_no_news_until_then():
    told = Told()
    told.pod(member(gang="later"))
    assert told.news == []
    told.roster.put(X_GROUP, pod_group(1, name="later"))
    assert told.news == ["default/later"]
    assert len(told.roster.get("default/later").members) == 1


def test_a_gang_of_which_nothing_is_left_is_forgotten():
    told = Told()
    told.pod(member("a"))
    told.pod(member("b", scheduler="other"))
    for uid in ("a", "b"):
        told.roster.remove(f"default/{uid}", uid)
    told.roster.drop(SIGS_GROUP, "default/g")
    assert list(told.roster) == []


def test_the_answer_to_our_own_write_is_known_and_no_news_not_even_when_the_watch_tells_it():
    told = Told()
    told.roster.answered(SIGS_GROUP, pod_group(3, "Pending"))
    told.group(2, "older")
    told.group(3, "Pending")
    assert (told.news, told.gang.pod_group.status.phase) == ([], "Pending")
    told.group(4, "changed")
    assert told.news == ["default/g"]


def test_the_answer_for_a_podgroup_that_has_been_made_again_is_not_believed():
    told = Told()
    told.group(5, "new", uid="another")
    told.roster.answered(SIGS_GROUP, pod_group(3, "old"))
    assert told.gang.pod_group.status.phase == "new"


def test_a_pod_that_does_not_say_when_it_was_bound_was_bound_when_it_was_first_seen_so():
    told = Told()
    told.pod(member(node="n"))
    told.now += 60
    told.pod(member(node="n", owner=("Job", "j")))
    (found,) = told.gang.members.values()
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
    told = Told()
    told.pod(member(node="n") | {"status": {"conditions": [{"type": "PodScheduled", **condition}]}})
    (found,) = told.gang.members.values()
    assert found.bound_at == bound_at
