"""A preemption under way: what becomes of it while its victims leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from koordpy.api.pod import Pod
from koordpy.kube.lane import Lane
from koordpy.kube.writes import PodRef
from koordpy.plan.framework.answers import Placement
from koordpy.plan.preemption.cost import Cost
from koordpy.plan.preemption.search import Preemption
from koordpy.scheduler.execute.evict import Evictor
from koordpy.scheduler.report.advice import Advice
from koordpy.scheduler.report.repeats import Repeats
from koordpy.scheduler.report.reporter import Reporter, ref
from koordpy.scheduler.report.throttle import Throttle
from koordpy.state.cluster import Cluster
from tests.builders import node, pod, pod_json, typed, with_identity
from tests.scheduler.wakeups.rig import client_of


class Activated:
    """A queue that remembers which jobs were activated."""

    def __init__(self) -> None:
        self.activated: list[str] = []
        self.backed_off: list[str] = []

    def activate_now(self, key: str) -> None:
        self.activated.append(key)

    def activate(self, key: str) -> None:
        pass

    def back_off(self, key: str) -> None:
        self.backed_off.append(key)


class Clearing:
    """A job `high` for which `low-1` and `low-2` are evicted; nothing is sent."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.cluster.upsert_node(node("n1", cpu=2))
        low = [self.cluster.upsert_pod(pod(name, node="n1", cpu=1)) for name in ("low-1", "low-2")]
        self.uids = {record.name: record.uid for record in low}
        self.high = self.cluster.upsert_pod(pod("high", cpu=2, priority=100))
        self.queue = Activated()
        nobody = cast("Any", None)
        self.lane = Lane(1)
        reporter = Reporter(
            nobody,
            self.cluster,
            "test",
            (),
            lane=Lane(1),
            throttle=Throttle(lambda: 0.0),
            repeats=Repeats(lambda: 0.0),
            advice=Advice(lambda: 0.0),
        )
        self.evictor = Evictor(nobody, self.cluster, cast("Any", self.queue), reporter, lane=self.lane)
        found = Preemption(tuple(low), (Placement(self.high.uid, "n1"),), Cost())
        self.evictor.start(self.high.uid, "default/high", self.high, found)

    async def carry_out(self, answer: Callable[[str, str], tuple[int, bytes]]) -> None:
        self.evictor._client = client_of(answer)
        sending = asyncio.create_task(self.lane.run())
        await self.lane.drained()
        sending.cancel()

    def gone(self, name: str) -> None:
        self.cluster.remove_pod(self.uids[name])
        self.evictor.pod_gone(self.uids[name])


@pytest.mark.parametrize("order", [("low-1", "low-2"), ("low-2", "low-1")])
async def test_the_job_is_told_when_the_last_of_its_victims_is_gone(order: tuple[str, str]) -> None:
    clearing = Clearing()
    clearing.gone(order[0])
    assert clearing.queue.activated == []
    clearing.gone(order[1])
    assert clearing.queue.activated == [clearing.high.uid]


async def test_a_job_that_has_started_is_not_told_any_more() -> None:
    clearing = Clearing()
    clearing.gone("low-1")
    clearing.evictor.ended(clearing.high.uid, "started")
    clearing.gone("low-2")
    assert clearing.queue.activated == []


@pytest.mark.parametrize(("promised", "written"), [("n1", []), ("", ["PATCH"])])
async def test_a_member_on_its_way_is_promised_nothing_more_but_told_what_was_taken_back(promised, written) -> None:
    clearing, calls = Clearing(), []
    clearing.evictor._client = client_of(lambda method, _: calls.append(method) or (200, b"{}"))
    clearing.cluster.nominate(clearing.high.uid, promised)
    clearing.cluster.assume(clearing.high.uid, "n1")
    await clearing.evictor._write_nomination(ref(clearing.high), promised, 1.0)
    assert calls == written


@pytest.mark.parametrize("promised", [True, False])
@pytest.mark.parametrize("becomes", ["gone", "terminating"])
async def test_nobody_is_evicted_for_a_job_that_went_while_its_victims_were_told(becomes: str, promised: bool) -> None:
    clearing, calls = Clearing(), []
    if not promised:  # a job of higher priority has displaced it meanwhile
        clearing.cluster.nominate(clearing.high.uid, "")

    def answer(method: str, _: str) -> tuple[int, bytes]:
        calls.append(method)
        if len(calls) == 2:
            if becomes == "gone":
                clearing.cluster.remove_pod(clearing.high.uid)
            else:
                leaving = pod_json("high", cpu=2, priority=100, terminating=True)
                leaving["metadata"]["uid"] = clearing.high.uid
                clearing.cluster.upsert_pod(typed(with_identity(leaving), Pod))
        return 200, b"{}"

    await clearing.carry_out(answer)
    assert len(calls) >= 2  # they were told
    assert "DELETE" not in calls


async def test_an_unexpected_error_ends_the_preemption_and_the_job_may_search_again() -> None:
    clearing = Clearing()

    def broken(*_: object) -> None:
        raise RuntimeError("a mistake of ours")

    clearing.evictor._client = client_of(broken)
    assert clearing.evictor.is_evicting_for(clearing.high.uid)
    sending = asyncio.create_task(clearing.lane.run())
    await clearing.lane.drained()
    sending.cancel()
    assert not clearing.evictor.is_evicting_for(clearing.high.uid)
    assert clearing.cluster.pods[clearing.high.uid].nominated_node == ""


@pytest.mark.parametrize(("first_answer", "deletes"), [(200, 2), (500, 3)])
async def test_a_victim_of_two_jobs_is_deleted_once_unless_the_first_delete_failed(first_answer, deletes) -> None:
    clearing, calls = Clearing(), []
    other = clearing.cluster.upsert_pod(pod("other", cpu=1, priority=50))
    low = clearing.cluster.pods[clearing.uids["low-1"]]
    found = Preemption((low,), (Placement(other.uid, "n1"),), Cost())
    clearing.evictor.start(other.uid, "default/other", other, found)

    def answer(method: str, path: str) -> tuple[int, bytes]:
        calls.append((method, path))
        failed = method == "DELETE" and calls.count((method, path)) == 1 and path.endswith("low-1")
        return (first_answer, b"{}") if failed else (200, b"{}")

    await clearing.carry_out(answer)
    assert sum(method == "DELETE" for method, _ in calls) == deletes


async def test_a_victim_that_is_gone_before_the_answer_to_its_delete_is_not_deleted_again(monkeypatch) -> None:
    clearing, deleted = Clearing(), []
    low = clearing.cluster.pods[clearing.uids["low-1"]]

    async def delete_pod(_client: object, pod: PodRef) -> None:
        deleted.append(pod.name)
        await asyncio.sleep(0.01)
        clearing.gone("low-1")
        await asyncio.sleep(0.01)

    monkeypatch.setattr("koordpy.scheduler.execute.evict.delete_pod", delete_pod)
    both = await asyncio.gather(clearing.evictor._delete_once(low), clearing.evictor._delete_once(low))
    assert both == [True, False]
    assert deleted == ["low-1"]


async def test_a_victim_that_was_not_found_when_it_was_told_is_not_deleted() -> None:
    clearing, calls = Clearing(), []

    def answer(method: str, path: str) -> tuple[int, bytes]:
        calls.append((method, path.rpartition("/pods/")[2].partition("/")[0]))
        return (404, b"{}") if calls[-1] == ("PATCH", "low-1") else (200, b"{}")

    await clearing.carry_out(answer)
    assert ("DELETE", "low-2") in calls
    assert ("DELETE", "low-1") not in calls


@pytest.mark.looptime
@pytest.mark.parametrize(("shown", "planned_again"), [("there", True), ("gone", False)])
async def test_a_job_whose_victim_was_not_found_is_planned_again_if_it_is_there(
    shown: str, planned_again: bool
) -> None:
    clearing = Clearing()
    await clearing.carry_out(lambda _method, path: (404 if "low-1" in path else 200, b"{}"))
    if shown == "gone":
        clearing.gone("low-1")
    await asyncio.sleep(60)
    assert (clearing.queue.backed_off == [clearing.high.uid]) is planned_again
    assert clearing.evictor.is_evicting_for(clearing.high.uid) is not planned_again
