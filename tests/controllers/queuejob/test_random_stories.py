"""Random stories: whatever users, kubelets, quotas and crashes do, the rules hold at every change of the store.

A seed is a story: `QUEUEJOB_SEEDS=500 pytest ...` tells five hundred of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from typing import Any

import looptime
import pytest

from koordpy.controllers.queuejob.names import Slot, pod_name, read_indexes, read_name
from koordpy.sim.embedded.store import Change
from tests.controllers.queuejob.killed import Killing, NoPodTwice
from tests.controllers.queuejob.world import World, embedded_world, job, task
from tests.scenarios.api import Refused

pytestmark = pytest.mark.random

SEEDS = range(int(os.environ.get("QUEUEJOB_SEEDS", "60")))
STEPS = 25
JOBS = "queuejobs.arbitrator.incubator.k8s.io"
LONGEST_BACKOFF_S = 320.0


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_rules_hold_at_every_step(seed: int):
    with looptime.enabled(strict=True):
        async with embedded_world() as world:
            await Teller(world, random.Random(seed)).tell()


class Teller:
    def __init__(self, world: World, dice: random.Random) -> None:
        self._world, self._dice = world, dice
        self._twice, self._rules = NoPodTwice(world.store), Rules(world)
        self._quota = False

    async def tell(self) -> None:
        running = asyncio.ensure_future(self._crash_now_and_then())
        for name in ("a", "b"):
            await self._world.create(self._job(name))
        try:
            for _ in range(STEPS):
                with contextlib.suppress(Refused):  # somebody else was quicker, or it cannot be
                    await self._dice.choice(self._verbs())()
                await self._pass(self._dice.choice((0.0, 0.05, 0.3, 2.0, 15.0)))
            await self._come_to_rest()
        finally:
            running.cancel()
            await asyncio.wait([running])

    def _job(self, name: str) -> dict[str, Any]:
        workers = self._dice.randint(1, 4)
        minimum = self._dice.choice((None, self._dice.randint(0, workers + 1)))
        most = self._dice.choice((None, 1, 3))
        return job(
            name,
            task("ps", 1),
            task("w", workers),
            minimum=minimum,
            scheduling={"priority": self._dice.randint(0, 2)},
            **({} if most is None else {"maxRestarts": most}),
        )

    async def _crash_now_and_then(self) -> None:
        """Killed at a write of chance, before or after it, and started again; in between undisturbed."""
        while True:
            transport = Killing(
                self._world.transport, self._dice.randint(1, 40), self._dice.choice(("before", "after"))
            )
            async with self._world.controllers(transport):
                await transport.died.wait()
            await asyncio.sleep(self._dice.choice((0.0, 0.5)))

    def _verbs(self) -> list[Any]:
        pods = [self._run, self._run, self._run, self._succeed, self._fail, self._delete, self._evict]
        specs = [self._scale, self._change_minimum, self._change_template, self._suspend, self._change_quota]
        return [*pods, *specs]

    async def _pod(self, *phases: str) -> str | None:
        pods = [pod for pod in (await self._world.pods()).values() if "deletionTimestamp" not in pod["metadata"]]
        found = sorted(pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] in phases)
        return self._dice.choice(found) if found else None

    async def _run(self) -> None:
        for name, pod in sorted((await self._world.pods()).items()):
            if pod["status"]["phase"] == "Pending" and self._dice.random() < 0.8:
                await self._world.phase("Running", name)

    async def _succeed(self) -> None:
        if name := await self._pod("Running"):
            await self._world.phase("Succeeded", name)

    async def _fail(self) -> None:
        if name := await self._pod("Running", "Pending"):
            self._rules.lost.add(name)
            await self._world.fail(name)

    async def _delete(self) -> None:
        if name := await self._pod("Running", "Pending", "Failed", "Succeeded"):
            self._rules.deleted_by_others.add((await self._world.pods())[name]["metadata"]["uid"])
            self._rules.lost.add(name)
            await self._world.remove(name)

    async def _evict(self) -> None:
        if name := await self._pod("Running"):
            self._rules.lost.add(name)
            await self._world.evict(name)

    async def _some_job(self) -> dict[str, Any]:
        return await self._world.job(self._dice.choice("ab"))

    async def _scale(self) -> None:
        body = await self._some_job()
        tasks = body["spec"]["taskSpecs"]
        tasks[1]["replicas"] = self._dice.randint(0, 5)
        await self._world.change(body["metadata"]["name"], taskSpecs=tasks)

    async def _change_minimum(self) -> None:
        body = await self._some_job()
        await self._world.change(body["metadata"]["name"], schedSpec={"minAvailable": self._dice.randint(0, 6)})

    async def _change_template(self) -> None:
        body = await self._some_job()
        tasks = body["spec"]["taskSpecs"]
        tasks[0]["template"]["spec"]["containers"][0]["image"] = self._dice.choice(("one", "two"))
        await self._world.change(body["metadata"]["name"], taskSpecs=tasks)

    async def _suspend(self) -> None:
        await self._world.change(self._dice.choice("ab"), suspend=self._dice.random() < 0.5)

    async def _change_quota(self) -> None:
        await self._world.quota(most=self._dice.randint(2, 12))
        self._quota = True

    async def _pass(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if self._dice.random() < 0.7:
            await self._world.finish_deletions()
        self._check()

    def _check(self) -> None:
        assert self._twice.seen == []
        assert self._rules.broken == []

    async def _come_to_rest(self) -> None:
        """Nothing is in the way any more: then each job is as its spec says, and its counters add up."""
        if self._quota:
            await self._world.quota(most=100)
        for _ in range(4):
            await asyncio.sleep(LONGEST_BACKOFF_S / 2)
            await self._world.finish_deletions()
        self._check()
        for name in ("a", "b"):
            await self._at_rest(await self._world.job(name), await self._world.pods(of=name))

    async def _at_rest(self, body: dict[str, Any], pods: dict[str, Any]) -> None:
        spec, status = body["spec"], body["status"]
        name = body["metadata"]["name"]
        counted = {key: status[key] for key in ("pending", "running", "succeeded", "failed")}
        phases = [pod["status"]["phase"].lower() for pod in pods.values()]
        assert counted == {key: phases.count(key) for key in counted}, await self._world.describe()
        replicas = {each["name"]: each["replicas"] for each in spec["taskSpecs"]}
        minimum = spec["schedSpec"].get("minAvailable", sum(replicas.values()))
        if status["phase"] in ("Completed", "Failed"):
            return
        if minimum > sum(replicas.values()):
            assert any(each["type"] == "SpecValid" for each in status["conditions"])
            return
        alive = {(found.slot.task, found.slot.index) for each in pods if (found := read_name(name, each))}
        done = {
            (each["name"], index) for each in status["taskStatuses"] for index in read_indexes(each["completedIndexes"])
        }
        wanted = {(task, index) for task, count in replicas.items() for index in range(count)}
        if spec.get("suspend"):
            assert alive <= done, await self._world.describe()
        else:
            assert wanted <= alive | done, await self._world.describe()
            assert alive <= wanted | done, await self._world.describe()


class Rules:
    """Every change of a QueueJob and of a pod, as the store has it."""

    def __init__(self, world: World) -> None:
        self._store = world.store
        self.broken: list[str] = []
        self.deleted_by_others: set[str] = set()
        self.lost: set[str] = set()  # names of pods that failed, or that others deleted, until they are made again
        self._store.subscribe(JOBS, self._job_changed)
        self._store.subscribe("pods", self._pod_changed)

    def _pods_of(self, name: str) -> list[dict[str, Any]]:
        pods = (stored.obj for stored in self._store.items("pods"))
        return [pod for pod in pods if pod["metadata"]["labels"].get("koordpy.io/queuejob") == name]

    def _job_changed(self, change: Change) -> None:
        if change.old is None or change.kind == "DELETED":
            return
        before, after = change.old.obj.get("status") or {}, change.new.obj.get("status") or {}
        if not before or not after or before == after:
            return
        if after["incarnation"] < before["incarnation"]:
            self.broken.append(f"the incarnation went back: {before} -> {after}")
        if after["restarts"] > before["restarts"]:
            self._restarted(change.new.obj, before, after)
        if after["restarts"] < before["restarts"] and after["templateHash"] == before["templateHash"]:
            self.broken.append(f"restarts were forgotten: {before} -> {after}")
        if after["phase"] == "Completed" != before["phase"]:
            self._completed(change.new.obj, after)

    def _restarted(self, body: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> None:
        if (after["restarts"], after["incarnation"]) != (before["restarts"] + 1, before["incarnation"] + 1):
            self.broken.append(f"a restart was counted twice: {before} -> {after}")
        wanted = {(each["name"], index) for each in body["spec"]["taskSpecs"] for index in range(each["replicas"])}
        done = {
            (each["name"], index) for each in after["taskStatuses"] for index in read_indexes(each["completedIndexes"])
        }
        runs = {
            (labels["koordpy.io/task"], int(labels["koordpy.io/index"]))
            for pod in self._pods_of(body["metadata"]["name"])
            if (labels := pod["metadata"]["labels"])["koordpy.io/incarnation"] == str(before["incarnation"])
            and pod["status"]["phase"] == "Running"
            and "deletionTimestamp" not in pod["metadata"]
        }
        if len(wanted & (runs | done)) >= after["minAvailable"]:
            self.broken.append(f"restarted with its minimum: {runs} run, {done} are done: {after}")
        name, incarnation = body["metadata"]["name"], before["incarnation"]
        if not any(pod_name(name, Slot(*place), incarnation) in self.lost for place in wanted - done):
            self.broken.append(f"restarted though no pod was lost: {before} -> {after}")

    def _completed(self, body: dict[str, Any], after: dict[str, Any]) -> None:
        done = {each["name"]: set(read_indexes(each["completedIndexes"])) for each in after["taskStatuses"]}
        for each in body["spec"]["taskSpecs"]:
            if not set(range(each["replicas"])) <= done.get(each["name"], set()):
                self.broken.append(f"completed without having succeeded: {after}")

    def _pod_changed(self, change: Change) -> None:
        """A pod that has succeeded is deleted by others, or because its templates are no more."""
        obj = change.new.obj
        metadata = obj["metadata"]
        if change.kind == "ADDED":
            self.lost.discard(metadata["name"])
        if (
            change.kind != "DELETED"
            or obj["status"]["phase"] != "Succeeded"
            or metadata["uid"] in self.deleted_by_others
        ):
            return
        owner = self._store.get(JOBS, metadata["namespace"], metadata["labels"]["koordpy.io/queuejob"])
        status = (owner.obj.get("status") or {}) if owner else {}
        if owner and int(metadata["labels"]["koordpy.io/incarnation"]) >= status["templateIncarnation"]:
            self.broken.append(f"{metadata['name']} had succeeded and was deleted")
