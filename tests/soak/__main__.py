"""`python -m tests.soak --minutes 20`: the exit code is 1 if anything was wrong."""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import time
from pathlib import Path

from bench.live.arrivals import install
from koordpy.app.crds import definitions
from koordpy.sim.simulate import objects
from tests.controlplane.client import Client
from tests.controlplane.manager import ControllerManager
from tests.controlplane.server import ADMIN_TOKEN, NOBODY_TOKEN, OTHER_TOKEN, ControlPlane
from tests.soak.audit import POLICY, Writes
from tests.soak.judge import Judge
from tests.soak.kubelets import Kubelets
from tests.soak.load import CLASSES, Load, seconds_between
from tests.soak.mirror import Mirror
from tests.soak.programs import Program
from tests.soak.report import Tally, memory_table

NAMESPACE = "soak"
# A job that is evicted is deleted by the scheduler and by the controller that makes it anew, once by each.
TOKENS = {"run": NOBODY_TOKEN, "controllers": OTHER_TOKEN}
SCHEDULER, CONTROLLERS = "nobody", "other"  # as the audit log calls who has these tokens
NODE_CPUS = 16
DEAD_FOR_S = (0.0, 5.0)
LOOK_EVERY_S = 1.0
SETTLE_S = 600.0  # in which every job ends when no more come: one that was evicted often backs off for 5 minutes
MOST_TOLD = 30


class Soak:
    def __init__(self, arguments: argparse.Namespace, control_plane: ControlPlane) -> None:
        self._minutes, self._load = arguments.minutes, arguments.load
        self._kill_every_s = arguments.kill_every
        self._dice = random.Random(arguments.seed)
        self._seed = arguments.seed
        self._nodes = [objects.node(f"node-{number}", NODE_CPUS, 0) for number in range(arguments.nodes)]
        self._control_plane = control_plane
        self._wrong: list[str] = []
        self._began = time.monotonic()

    async def run(self) -> list[str]:
        """What was wrong."""
        control_plane = self._control_plane
        directory = control_plane.directory
        async with Client(
            control_plane.url, namespace=NAMESPACE, token=ADMIN_TOKEN, ca_path=control_plane.ca_path
        ) as client:
            await self._prepare(client)
            manager = ControllerManager(control_plane, directory, "job-controller", "garbage-collector-controller")
            manager.start()
            kubeconfigs = {
                command: control_plane.kubeconfig(directory / f"{command}.yaml", token=token)
                for command, token in TOKENS.items()
            }
            commands = {"run-a": "run", "run-b": "run", "controllers": "controllers"}
            programs = [Program(name, command, kubeconfigs[command], directory) for name, command in commands.items()]
            try:
                await self._play(client, programs)
            finally:
                manager.close()
        return self._wrong

    async def _prepare(self, client: Client) -> None:
        await install(client, definitions())
        (await client.create("namespaces", {"metadata": {"name": NAMESPACE}})).ok()
        for name, value in CLASSES.items():
            (await client.create("priorityclasses", {"metadata": {"name": name}, "value": value})).ok()
        for node in self._nodes:
            (await client.create("nodes", node)).ok()

    async def _play(self, client: Client, programs: list[Program]) -> None:
        judge, tally = Judge(self._nodes, time.monotonic), Tally()
        async with asyncio.TaskGroup() as group, Mirror(client) as mirror:
            kubelets = Kubelets(client, group)
            mirror.changed += [judge.hear, tally.hear, kubelets.hear]
            mirror.gone += [judge.forget, kubelets.forget]
            load = Load(client, mirror, group, self._seed)
            background = [
                group.create_task(load.tidy()),
                group.create_task(self._look(programs, judge, mirror, tally)),
            ]
            killing = group.create_task(self._kill(programs))
            pause_s = seconds_between(len(self._nodes) * NODE_CPUS, self._load)
            await load.submit_for(self._minutes * 60, pause_s)
            killing.cancel()
            await asyncio.wait([killing])
            self._restart(programs)
            await self._settle(load, judge)
            for task in background:
                task.cancel()
        self._judge_at_end(judge, load, programs, mirror, tally)

    async def _kill(self, programs: list[Program]) -> None:
        while True:
            await asyncio.sleep(self._kill_every_s)
            program = self._dice.choice(programs)
            if not program.running:
                self._wrong.append(f"{program.name} had ended by itself")
            program.kill()
            await asyncio.sleep(self._dice.uniform(*DEAD_FOR_S))
            program.start()

    def _restart(self, programs: list[Program]) -> None:
        for program in programs:
            if not program.running:
                program.start()

    async def _look(self, programs: list[Program], judge: Judge, mirror: Mirror, tally: Tally) -> None:
        """Until cancelled: whose time is up, memory, and a line for people each minute."""
        looks = 0
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            judge.check()
            if mirror.trouble:
                raise RuntimeError(mirror.trouble)
            for program in programs:
                if program.running:
                    program.look()
            looks += 1
            if looks % 60 == 0:
                memory = ", ".join(f"{each.name} {each.looks[-1].memory_mb:.0f}" for each in programs)
                minute = (time.monotonic() - self._began) / 60
                told = f"{tally}; {len(judge.pending())} pending; MB: {memory}; {len(judge.wrong)} wrong"
                print(f"minute {minute:.0f}: {told}", flush=True)

    async def _settle(self, load: Load, judge: Judge) -> None:
        """No more jobs come; all that there are have to end."""
        for _ in range(int(SETTLE_S / LOOK_EVERY_S)):
            if not load.left:
                return
            await asyncio.sleep(LOOK_EVERY_S)
        if load.left:
            told = f"{load.left} have not ended after {SETTLE_S:.0f} seconds: {load.names_left[:10]}"
            self._wrong.append(f"{told}; pending: {judge.pending()[:10]}")

    def _judge_at_end(self, judge: Judge, load: Load, programs: list[Program], mirror: Mirror, tally: Tally) -> None:
        for program in programs:
            if not program.running:
                self._wrong.append(f"{program.name} had ended by itself")
            if not program.end():
                self._wrong.append(f"{program.name} did not end in time when it was asked to")
            self._wrong += program.mistakes()
        writes, others = Writes(SCHEDULER), Writes(CONTROLLERS)
        for each in (writes, others):
            with self._control_plane.audit_log.open() as lines:
                each.read(lines)
        self._wrong += [*judge.wrong, *writes.twice(judge.lives), *others.twice(judge.lives), *load.refused]
        if sum(writes.binds.values()) != sum(judge.bound.values()):
            told = f"{sum(writes.binds.values())} binds were carried out, and {sum(judge.bound.values())} were seen"
            self._wrong.append(told)
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(load.submitted.items()))
        print(f"{self._minutes:g} minutes, {len(self._nodes)} nodes of {NODE_CPUS} CPUs; {tally}")
        print(f"jobs: {kinds}; {load.deleted_early} deleted early; processes killed: {_kills(programs)}")
        print(f"longest time that a gang was half bound: {judge.longest_partial_s:.0f} s; lists: {mirror.lists}")
        print("\n".join(memory_table(programs)))


def _kills(programs: list[Program]) -> int:
    return sum(program.starts - 1 for program in programs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--load", type=float, default=0.9, help="part of the CPUs that jobs ask for, on average")
    parser.add_argument("--kill-every", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="where logs are left when something was wrong")
    arguments = parser.parse_args()
    with ControlPlane(audit_policy=POLICY) as control_plane:
        wrong = asyncio.run(Soak(arguments, control_plane).run())
        for each in wrong[:MOST_TOLD]:
            print(f"wrong: {each}")
        print(f"{len(wrong)} wrong")
        if wrong and arguments.keep:
            shutil.copytree(control_plane.directory, arguments.keep, dirs_exist_ok=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
