"""Wait times that end: what is abandoned, when it is said, and how it is taken back."""

from __future__ import annotations

from typing import Any

import pytest

from koordpy.kube.errors import Unavailable
from tests.scheduler.gangs.loop import HandLoop
from tests.scheduler.gangs.rig import TIMED_OUT, GangRig, saying
from tests.scheduler.wakeups.rig import HandClock, uid

SAID = {TIMED_OUT: "true"}
WAITS = saying(mode="NonStrict", wait="10s")


def run_out(rig: GangRig) -> None:
    """Two of three members wait, and their time is up."""
    rig.node("n1", cpu=2)
    rig.busy_node()
    rig.gang("a", 3, says=WAITS)
    rig.members("a", 3)
    rig.settle()
    assert len(rig.room) == 1
    time_passes(rig, 10)


def time_passes(rig: GangRig, seconds: float) -> None:
    rig.hand_clock.now += seconds
    for stay in rig.room.overdue():
        rig.permit.time_out(stay)


def test_a_gang_whose_time_is_up_holds_nothing_and_is_left_alone():
    rig = GangRig()
    run_out(rig)
    rig.settle()
    assert rig.nodes_of("a") == []
    rig.node("n2", cpu=8)
    rig.settle()
    assert rig.nodes_of("a") == []


def test_news_from_before_the_annotation_does_not_bring_the_gang_back():
    rig = GangRig()
    run_out(rig)
    rig.member("a-1", "a")  # something else about it changed a moment before
    rig.node("n2", cpu=8)
    rig.settle()
    assert rig.nodes_of("a") == []


def test_the_annotation_counts_once_it_was_seen():
    rig = GangRig()
    run_out(rig)
    for says in (SAID, None):  # it arrives, and its owner takes it away
        rig.members("a", 3, says=says)
    rig.node("n2", cpu=8)
    rig.settle()
    assert len(rig.nodes_of("a")) == 3


def test_a_pod_made_again_is_not_the_one_that_timed_out():
    rig = GangRig()
    run_out(rig)
    rig.node("n2", cpu=8)
    for name in ("a-1", "a-2", "a-3"):
        rig.gone(name)
        rig.member(name, "a")
    rig.settle()
    assert len(rig.nodes_of("a")) == 3


def test_an_abandonment_that_nobody_was_told_of_ends_with_the_leadership():
    """The annotation is not sent any more; without it, nobody would know what to take away."""
    rig = GangRig()
    run_out(rig)
    rig.hand_over()
    rig.node("n2", cpu=8)
    rig.settle()
    assert len(rig.nodes_of("a")) == 3


def test_an_abandonment_that_was_seen_outlives_the_leadership():
    rig = GangRig()
    run_out(rig)
    rig.members("a", 3, says=SAID)
    rig.hand_over()
    rig.node("n2", cpu=8)
    rig.settle()
    assert rig.nodes_of("a") == []


class DeafApi:
    """Answers nothing, until it does."""

    def __init__(self) -> None:
        self.is_deaf = True
        self.annotated: list[str] = []
        self.told: dict[str, str] = {}  # path of a pod -> its last condition

    async def write(self, method: str, path: str, body: Any, **_: object) -> bytes:
        if self.is_deaf:
            raise Unavailable("no answer")
        if "annotations" in body.get("metadata", {}):
            self.annotated.append(body["metadata"]["uid"])
        if path.endswith("/status"):
            self.told[path] = body["status"]["conditions"][0]["message"]
        return b"{}"


def tell(rig: GangRig, loop: HandLoop) -> None:
    """Carry out what is to be told, for a minute."""
    for _ in range(60):
        while len(rig.lanes.reports):
            loop.start(rig.lanes.reports._calls.get_nowait()())
        loop.turn()
        rig.hand_clock.now += 1


@pytest.fixture
def hand_loop():
    clock = HandClock()
    loop = HandLoop(clock)
    yield loop, clock
    loop.cut()
    loop.close()


def test_the_annotation_is_sent_until_it_gets_there(hand_loop):
    (loop, clock), api = hand_loop, DeafApi()
    rig = GangRig(client=api, clock=clock)
    rig.hand_clock = clock
    run_out(rig)
    tell(rig, loop)
    api.is_deaf = False
    tell(rig, loop)
    assert sorted(api.annotated) == [uid("a-1"), uid("a-2"), uid("a-3")]


def test_an_annotation_of_an_earlier_term_is_not_sent_in_a_later_one(hand_loop):
    (loop, clock), api = hand_loop, DeafApi()
    rig = GangRig(client=api, clock=clock)
    rig.hand_clock = clock
    run_out(rig)
    tell(rig, loop)
    rig.hand_over()
    api.is_deaf = False
    tell(rig, loop)
    assert api.annotated == []


def test_members_are_told_although_an_error_of_ours_comes_in_between(hand_loop):
    """Everybody else is tried and told again after such an error; those whose time is up are not."""
    (loop, clock), api = hand_loop, DeafApi()
    api.is_deaf = False
    rig = GangRig(client=api, clock=clock)
    rig.hand_clock = clock
    run_out(rig)
    rig.built.parts.recovery.run()
    tell(rig, loop)
    assert [text.partition(";")[0] for text in api.told.values()] == ["timed out after 10s"] * 3
