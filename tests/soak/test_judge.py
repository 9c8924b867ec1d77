"""What the judge of a soak calls wrong."""

from __future__ import annotations

import json

import pytest

from koordpy.sim.simulate import objects
from tests.soak.audit import Writes
from tests.soak.judge import GANG, MINIMUM, WHOLE_WITHIN_S, Json, Judge


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def judge(clock: Clock) -> Judge:
    return Judge([objects.node("n1", 4, 0), objects.node("n2", 4, 0)], clock)


def pod(name: str, node: str = "", cpu: int = 1, gang: str = "", phase: str = "Pending") -> Json:
    made = objects.pod(name, {"cpu": cpu})
    made["metadata"] |= {"uid": f"u-{name}", "annotations": {GANG: gang, MINIMUM: "2"} if gang else {}}
    made["spec"] |= {"nodeName": node} if node else {}
    return made | {"status": {"phase": phase}}


def test_a_node_that_is_full_is_not_overcommitted(judge: Judge):
    judge.hear(pod("a", "n1", cpu=3))
    judge.hear(pod("b", "n1", cpu=1))
    assert judge.wrong == []


def test_a_node_with_more_than_it_has_is_wrong(judge: Judge):
    judge.hear(pod("a", "n1", cpu=3))
    judge.hear(pod("b", "n1", cpu=2))
    assert judge.wrong == ["b was bound: n1 has cpu 4000, and its pods ask for 5000"]


def test_what_has_ended_or_gone_takes_no_room(judge: Judge):
    judge.hear(pod("a", "n1", cpu=3))
    judge.hear(pod("a", "n1", cpu=3, phase="Succeeded"))
    judge.hear(pod("b", "n1", cpu=4))
    judge.forget(pod("b", "n1", cpu=4))
    judge.hear(pod("c", "n1", cpu=4))
    assert judge.wrong == []


def test_a_pod_that_changes_its_node_is_wrong(judge: Judge):
    judge.hear(pod("a", "n1"))
    judge.hear(pod("a", "n2"))
    assert judge.wrong == ["a was on n1, and is on n2 now"]


def test_a_gang_may_be_half_bound_for_a_while_and_no_longer(judge: Judge, clock: Clock):
    judge.hear(pod("a", "n1", gang="g"))
    judge.hear(pod("b", gang="g"))
    clock.now = WHOLE_WITHIN_S
    judge.check()
    assert judge.wrong == []
    clock.now += 1
    judge.check()
    assert judge.wrong == [f"gang g is half bound: 1 of 2 members for {WHOLE_WITHIN_S + 1:.0f} seconds"]


def test_a_gang_that_was_whole_may_lose_members(judge: Judge, clock: Clock):
    for name in ("a", "b"):
        judge.hear(pod(name, "n1", gang="g"))
    judge.forget(pod("b", "n1", gang="g"))
    clock.now = 2 * WHOLE_WITHIN_S
    judge.check()
    assert judge.wrong == []


def test_a_gang_whose_last_member_is_gone_has_to_start_whole_again(judge: Judge, clock: Clock):
    for name in ("a", "b"):
        judge.hear(pod(name, "n1", gang="g"))
    judge.hear(pod("c", gang="g"))
    for name in ("a", "b"):
        judge.forget(pod(name, "n1", gang="g"))
    judge.hear(pod("c", "n1", gang="g"))
    clock.now = 2 * WHOLE_WITHIN_S
    judge.check()
    assert len(judge.wrong) == 1


def request(verb: str, name: str, subresource: str = "", code: int = 201, message: str = "", *, who: str = "us") -> str:
    about = {"resource": "pods", "name": name} | ({"subresource": subresource} if subresource else {})
    answer = {"code": code, "message": message}
    return json.dumps({"user": {"username": who}, "verb": verb, "objectRef": about, "responseStatus": answer})


def written_twice(*lines: str, lives: int = 1) -> list[str]:
    writes = Writes("us")
    writes.read(lines)
    return writes.twice({"a": lives})


def test_a_bind_of_a_pod_that_has_a_node_is_wrong():
    refused = request("create", "a", "binding", 409, 'pod a is already assigned to node "n1"')
    assert written_twice(request("create", "a", "binding"), refused) == ["a was to be bound 1 times more"]


def test_a_pod_that_is_deleted_again_is_wrong():
    assert written_twice(*[request("delete", "a", code=200)] * 2) == ["a was deleted 2 times"]


def test_a_dry_run_is_no_deletion():
    dry = json.loads(request("delete", "a", code=200)) | {"requestObject": {"dryRun": ["All"]}}
    assert written_twice(json.dumps(dry), request("delete", "a", code=200)) == []


def test_pods_that_had_one_name_one_after_the_other_are_written_once_each():
    assert written_twice(*[request("create", "a", "binding"), request("delete", "a", code=200)] * 2, lives=2) == []


def test_what_others_write_and_what_was_refused_for_other_reasons_is_not_counted():
    others = [request("delete", "a", code=200, who="them")] * 2
    assert written_twice(*others, request("create", "a", "binding", 404), request("create", "a", "binding")) == []
