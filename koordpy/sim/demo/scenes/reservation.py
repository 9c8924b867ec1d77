"""A large job is promised a start; a short one runs before it, and a long one has to wait.

What pods declare is longer than what they run, as with people. The long one declares much more, so that it may not
start before, and the demo need not wait for it.
"""

from __future__ import annotations

import time

from koordpy.api.decode import Decoder
from koordpy.api.keys import RESERVED_START, RUN_TIME
from koordpy.api.podgroup.coscheduling import SIGS_GROUP, VERSION
from koordpy.api.times import seconds_of_instant
from koordpy.sim.demo.scenes.stage import PODS, Named, Stage
from koordpy.sim.demo.seen import HOLDS_ROOM, SeenPod, State
from koordpy.sim.demo.workload import Workload

_GROUPS = f"/apis/{SIGS_GROUP}/{VERSION}/namespaces/default/podgroups"
_RENDER = Workload("render", count=3, cpu="1", memory="1Gi", gpus=4, run_s=4.5)
_LARGE = Workload("large", count=4, cpu="1", memory="1Gi", gpus=4, is_gang=True, run_s=1.5)
_SHORT = Workload("short", count=1, cpu="1", memory="1Gi", gpus=2, run_s=1.5)
_LONG = Workload("long", count=1, cpu="1", memory="1Gi", gpus=2, run_s=1.5)


async def play(stage: Stage) -> tuple[str, str]:
    stage.open("a reserved start, and who may run before it", *(w.name for w in (_RENDER, _LARGE, _SHORT, _LONG)))
    stage.say("submitting 3 render pods, each 4 GPUs, a run time of 7 s declared")
    await _submit(stage, _RENDER, 7)
    await stage.until_pods("render", 3, *HOLDS_ROOM)
    stage.say("submitting a gang: 4 large pods, each 4 GPUs: all that there are; 3 s declared")
    await _submit(stage, _LARGE, 3)
    reserved = await stage.until("a reservation", lambda: _reserved(stage))
    stage.tell("reserved", f"large is promised a start at {reserved}: {_in_s(reserved)}")
    stage.say("submitting short, 2 GPUs, 3 s declared; and long, 2 GPUs, 60 s declared")
    await _submit(stage, _SHORT, 3)
    await _submit(stage, _LONG, 60)
    (long,) = await stage.until_pods("long", 1, State.WAITING, *HOLDS_ROOM)
    refused = long.message
    await stage.until_pods("large", 4, *HOLDS_ROOM, State.FINISHED)
    early = _before_s(reserved)
    stage.tell("reserved", f"large has all its nodes, {early}")
    await stage.linger()
    await stage.until_pods("long", 1, State.FINISHED)
    order = _order(stage)
    text = (
        f"A gang that needs all 16 GPUs was promised a start at {reserved}, and started {early}."
        f" Behind it came short, which declares 3 s, and long, which declares 60 s. long was told:"
        f" “{refused.removesuffix('.')}.” They started in this order: {order}."
    )
    return "large", text


async def _submit(stage: Stage, workload: Workload, declared_s: int) -> None:
    if workload.is_gang:
        await stage.create(_GROUPS, workload.pod_group())
    for pod in workload.pods(range(1, workload.count + 1)):
        pod["metadata"]["annotations"][RUN_TIME] = f"{declared_s}s"
        await stage.create(PODS, pod)


async def _reserved(stage: Stage) -> str:
    found = await stage.read(f"{_GROUPS}/large", Decoder("PodGroup", Named))
    return found.metadata.annotations.get(RESERVED_START, "") if found is not None else ""


def _in_s(instant: str) -> str:
    return f"in {max(seconds_of_instant(instant) - time.time(), 0.0):.0f} s"


def _before_s(instant: str) -> str:
    seconds = seconds_of_instant(instant) - time.time()
    return f"{abs(seconds):.1f} s {'before' if seconds >= 0 else 'after'} the promised time"


def _order(stage: Stage) -> str:
    """Who was bound when, of all that were submitted here."""
    bound: dict[str, float] = {}
    for pod in stage.seen.pods.values():
        if pod.workload in ("render", "large", "short", "long") and State.BOUND in pod.since:
            bound[pod.workload] = min(bound.get(pod.workload, float("inf")), _bound_at(pod))
    return ", ".join(sorted(bound, key=lambda name: bound[name]))


def _bound_at(pod: SeenPod) -> float:
    return pod.since[State.BOUND]
