"""The index of pods: who is considered, and which events are news."""

from __future__ import annotations

from typing import Any

import pytest

from koordpy.api.pod import Pod
from koordpy.controllers.grouping.pods import PodIndex
from tests.builders import pod_json, typed, with_identity

Json = dict[str, Any]


class Told:
    """An index, and the branches that it told of."""

    def __init__(self) -> None:
        self.branches: list[tuple[str, bool]] = []
        self.index = PodIndex(["koord-scheduler"], self._tell)

    def _tell(self, branch: str, *, left: bool) -> None:
        self.branches.append((branch, left))

    def see(self, obj: Json) -> None:
        self.index.upsert(typed(obj, Pod))


def made(name: str = "p", *, uid: str = "u", **given: Any) -> Json:
    obj = with_identity(pod_json(name, **given))
    obj["metadata"]["uid"] = uid
    return obj


def owned(obj: Json, uid: str, kind: str = "Job", api_version: str = "batch/v1") -> Json:
    reference = {"apiVersion": api_version, "kind": kind, "name": "o", "uid": uid, "controller": True}
    obj["metadata"]["ownerReferences"] = [reference]
    return obj


def test_pods_of_one_owner_are_one_branch():
    told = Told()
    told.see(owned(made("a", uid="1"), "owner"))
    told.see(owned(made("b", uid="2"), "owner"))
    assert told.branches == [("default/owner", False)] * 2
    assert sorted(pod.meta.name for pod in told.index.branch("default/owner")) == ["a", "b"]


def test_a_pod_without_owner_is_no_branch_of_the_pods_that_it_owns():
    told = Told()
    told.see(made("driver", uid="1"))
    told.see(owned(made("executor", uid="2"), "1", "Pod", "v1"))
    assert [len(told.index.branch(branch)) for branch in told.index.branches()] == [1, 1]


def test_the_last_pod_that_goes_is_told_as_such():
    told = Told()
    for name in ("a", "b"):
        told.see(owned(made(name, uid=name), "owner"))
    told.index.remove("default/a", "a")
    told.index.remove("default/b", "b")
    assert told.branches[2:] == [("default/owner", False), ("default/owner", True)]


def test_a_version_that_differs_in_nothing_that_matters_is_no_news():
    told = Told()
    told.see(made())
    later = made()
    later["metadata"]["resourceVersion"] = "99"
    later["status"] = {"conditions": [{"type": "PodScheduled", "status": "False"}]}
    told.see(later)
    assert len(told.branches) == 1


def test_our_own_write_is_no_news_when_the_watch_shows_it():
    told = Told()
    told.see(made())
    told.index.record_write("u", {"pod-group-name": "g"}, {"kai.scheduler/subgroup-name": "s"})
    told.see(made(annotations={"pod-group-name": "g"}, labels={"kai.scheduler/subgroup-name": "s"}))
    assert len(told.branches) == 1


@pytest.mark.parametrize("change", [{"node": "n"}, {"labels": {"a": "b"}}, {"annotations": {"a": "b"}}])
def test_what_rules_look_at_is_news(change):
    told = Told()
    told.see(made())
    told.see(made(**change))
    assert len(told.branches) == 2


@pytest.mark.parametrize(
    "claimed",
    [
        made(scheduler="another"),
        made(labels={"scheduling.x-k8s.io/pod-group": "g"}),
        made(annotations={"kai.scheduler/skip-podgrouper": "true"}),
        owned(made(), "q", "QueueJob", "arbitrator.incubator.k8s.io/v1alpha1"),
        made() | {"spec": made()["spec"] | {"schedulingGroup": {"podGroupName": "g"}}},
    ],
)
def test_who_is_claimed_by_others_is_not_considered_and_is_let_go_when_claimed_later(claimed):
    told = Told()
    told.see(claimed)
    assert told.branches == []
    told.see(made())
    told.see(claimed)
    assert told.branches == [("pod u", False), ("pod u", True)]


def test_only_the_exact_word_opts_out():
    told = Told()
    told.see(made(annotations={"kai.scheduler/skip-podgrouper": "True"}))
    assert told.branches == [("pod u", False)]
