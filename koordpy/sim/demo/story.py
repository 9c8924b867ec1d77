"""The demo, from the empty cluster to the summary, as one tree of tasks.

The API runs in this process and not in a child: its nodes are of two kinds, it must live exactly as long as the demo,
and a port that is known needs no handshake. The scheduler is a child and everybody, the view included, talks to the
API over HTTP, so nothing works here that would not work on a cluster.
"""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import yaml

from koordpy.api.coordination import Lease
from koordpy.api.decode import Decoder
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.podgroup.coscheduling import GROUPS, SIGS_GROUP, VERSION, PodGroup
from koordpy.app.crds import definitions
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.client import Client
from koordpy.kube.errors import NotFound
from koordpy.kube.http.transport import HttpTransport
from koordpy.kube.watch.reflector import Reflector, Resource
from koordpy.sim.demo.child import SchedulerEnded, address, last_lines, report_death, scheduler
from koordpy.sim.demo.network import TOPOLOGIES, topology
from koordpy.sim.demo.scenes.programme import SCENES
from koordpy.sim.demo.scenes.stage import Stage
from koordpy.sim.demo.seen import Event, EventSink, NodeSink, PodGroupSink, PodSink, Seen, SeenPod, State
from koordpy.sim.demo.summary import summary
from koordpy.sim.demo.view import Place, View
from koordpy.sim.demo.words import names
from koordpy.sim.demo.workload import CUES, SCHEDULER, SUBMITTED, Cue, bigger_node, demo_nodes, priority_class
from koordpy.sim.embedded.server import EmbeddedServer
from koordpy.sim.embedded.workloads.operators import definitions as operators

_PODS = "/api/v1/namespaces/default/pods"
_POD_GROUPS = f"/apis/{SIGS_GROUP}/{VERSION}/namespaces/default/podgroups"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_EVENTS = "/apis/events.k8s.io/v1/events"
_LEASE = f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{SCHEDULER}"
_TICK_S = 0.25
_CALM_S = 0.06  # a burst is over when nothing has changed for so long
_MOST_PAUSES = 4
_PATIENCE_S = 240.0  # five times what it takes; a demo that nobody watches must not hang


async def run(view: View, *, stays: bool) -> None:
    """Play it; afterwards stay up until cancelled, if so wanted. Raises SchedulerEnded."""
    _end_with_the_terminal()
    with tempfile.TemporaryDirectory(prefix="koordpy-demo-") as directory:
        place = Place(Path(directory))
        async with EmbeddedServer(demo_nodes()) as server:
            for definition in [*definitions(), *operators.definitions()]:
                await server.create(_DEFINITIONS, definition)
            await server.create(_PRIORITY_CLASSES, priority_class())
            await server.create(TOPOLOGIES, topology())
            place.kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
            place.bigger_node.write_text(yaml.safe_dump(bigger_node(), sort_keys=False), encoding="utf-8")
            credentials = await load_credentials(str(place.kubeconfig))
            async with (
                HttpTransport(credentials, connections=8) as transport,
                scheduler(place.kubeconfig, place.log) as process,
            ):
                with view:
                    await Story(Client(transport), view, place, stays=stays).play(process)


class Story:
    """One run on a cluster that is up."""

    def __init__(self, client: Client, view: View, place: Place, *, stays: bool) -> None:
        self._client, self._view, self._place, self._stays = client, view, place, stays
        self._seen = Seen()
        self._stage = Stage(client, view, self._seen, place)
        self._over = asyncio.Event()  # of the first half: nothing more will happen by itself

    async def play(self, process: asyncio.subprocess.Process) -> None:
        async with asyncio.TaskGroup() as group:
            background = [group.create_task(report_death(process, self._place.log))]
            background += [group.create_task(watch) for watch in self._watches()]
            background.append(group.create_task(self._keep_fresh()))
            await self._tell()
            for task in background:
                task.cancel()

    def _watches(self) -> list[Coroutine[Any, Any, None]]:
        client, seen = self._client, self._seen
        return [
            Reflector(client, Resource("/api/v1/nodes", Decoder("Node", Node)), NodeSink(seen)).run(),
            Reflector(client, Resource(_PODS, Decoder("Pod", Pod)), PodSink(seen)).run(),
            Reflector(client, Resource(_EVENTS, Decoder("Event", Event)), EventSink(seen)).run(),
            *(Reflector(client, _pod_groups(group), PodGroupSink(seen)).run() for group in GROUPS),
        ]

    async def _tell(self) -> None:
        try:
            async with asyncio.timeout(None if self._stays else _PATIENCE_S):
                await self._scheduler_leads()
                await self._submit_all()
                await self._over.wait()
                self._seen.told += summary(self._seen)
                for scene in SCENES:
                    self._seen.told.append(await scene(self._stage))
        except TimeoutError:
            raise self._stuck() from None
        self._view.refresh(self._seen)
        self._view.sum_up(self._seen, self._place, stays=self._stays)
        if self._stays:
            await asyncio.Event().wait()

    async def _scheduler_leads(self) -> None:
        self._view.say(self._seen, "20 nodes of 8 cpu, 4 nodes of 16 cpu and 4 GPUs; starting the scheduler")
        self._view.say(self._seen, f"to look at it while it runs: export KUBECONFIG={self._place.kubeconfig}")
        decode = Decoder("Lease", Lease)
        while True:
            try:
                holder = decode(await self._client.get(_LEASE)).spec.holder_identity
            except NotFound:
                holder = None
            if holder:
                self._view.say(self._seen, f"the scheduler holds its lease as {holder}")
                self._place.server = await address(self._place.log)
                return
            await asyncio.sleep(0.1)

    async def _submit_all(self) -> None:
        began = self._seen.now()
        for cue in CUES:
            await asyncio.sleep(began + cue.at_s - self._seen.now())
            while not self._is_time_for(cue):  # noqa: ASYNC110 - others do it
                await asyncio.sleep(_TICK_S)
            self._view.say(self._seen, cue.says)
            await self._submit(cue)

    def _is_time_for(self, cue: Cue) -> bool:
        if cue.once is None:
            return True
        workload, state = cue.once[0], State(cue.once[1])
        pods = [pod for pod in self._seen.pods.values() if pod.workload == workload]
        return bool(pods) and all(state in pod.since for pod in pods)

    async def _submit(self, cue: Cue) -> None:
        if cue.workload.is_gang and cue.begins:
            await self._client.write("POST", _POD_GROUPS, cue.workload.pod_group())
        for pod in cue.workload.pods(cue.numbers):
            await self._client.write("POST", _PODS, pod)

    def _settled(self, pod: SeenPod) -> bool:
        """Nothing more will happen to it by itself."""
        if pod.state is State.WAITING:
            return self._seen.is_too_big(pod)
        if pod.state is State.RUNNING:
            return not pod.ends_by_itself
        return pod.state in (State.FINISHED, State.DELETED)

    async def _keep_fresh(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            await self._calm()
            self._view.refresh(self._seen)
            if self._is_over():
                self._over.set()

    async def _calm(self) -> None:
        """What happens in one moment is shown in one, and not the half of it now and the rest at the next tick."""
        for _ in range(_MOST_PAUSES):
            if self._seen.now() - self._seen.changed_at >= _CALM_S:
                return
            await asyncio.sleep(_CALM_S)

    def _is_over(self) -> bool:
        seen = self._seen
        return len(seen.pods) >= SUBMITTED and all(map(self._settled, seen.pods.values())) and not self._lags()

    def _lags(self) -> bool:
        """A PodGroup does not say yet what its pods say."""
        ended = {pod.gang for pod in self._seen.pods.values() if pod.gang and pod.state is State.FINISHED}
        return any(self._seen.gangs[gang].status.phase != "Finished" for gang in ended if gang in self._seen.gangs)

    def _stuck(self) -> SchedulerEnded:
        unsettled = (pod.name for pod in self._seen.pods.values() if not self._settled(pod))
        waiting = self._stage.waits_for or names(unsettled) or "the scheduler's lease"
        return SchedulerEnded(
            f"the demo is not over after {_PATIENCE_S:g} s, it waits for {waiting}; the end of the scheduler's log:\n"
            f"{last_lines(self._place.log)}"
        )


def _pod_groups(group: str) -> Resource[PodGroup]:
    return Resource(f"/apis/{group}/{VERSION}/podgroups", Decoder("PodGroup", PodGroup))


def _end_with_the_terminal() -> None:
    """A closed window sends SIGHUP to us alone, and the scheduler must not outlive us. `nohup` is respected."""
    task = asyncio.current_task()
    if task is not None and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, task.cancel)
