"""Two teams share the GPUs: one uses what the other leaves idle, and gives it back when a burst comes."""

from __future__ import annotations

from koordpy.api.answers import QueueLine, QueueList
from koordpy.api.keys import QUEUE
from koordpy.sim.demo.scenes.stage import Stage
from koordpy.sim.demo.scenes.templates import Obj, template
from koordpy.sim.demo.seen import HOLDS_ROOM, State
from koordpy.sim.demo.words import names

_QUEUES = "/apis/scheduling.run.ai/v2/queues"
_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
_QUOTAS = {"research": 12, "serving": 4}
_LAB, _INFER = "lab", "infer"
_EACH = 2  # GPUs of a pod


async def play(stage: Stage) -> tuple[str, str]:
    stage.open("two teams, a burst and a reclaim", _LAB, _INFER)
    stage.say("16 GPUs: Queue research can count on 12 of them, Queue serving on 4")
    for name, quota in _QUOTAS.items():
        await stage.create(_QUEUES, _queue(name, quota))
    stage.say(f"research submits {_LAB}: 8 pods of {_EACH} GPUs; nobody else wants any")
    await stage.create(_SETS, _set(_LAB, "research", 8))
    await stage.until_pods(_LAB, 8, State.RUNNING)
    await _tell_shares(stage)
    stage.say(f"a burst: serving submits {_INFER}: 4 pods of {_EACH} GPUs")
    await stage.create(_SETS, _set(_INFER, "serving", 4))
    await stage.until_pods(_INFER, 2, *HOLDS_ROOM)
    taken = names(sorted(pod.name for pod in stage.seen.pods.values() if pod.workload == _LAB and pod.evicted_for))
    words = await stage.until("the event of a victim", lambda: _why(stage))
    stage.tell("event", words)
    await stage.until_pods(_LAB, 2, State.WAITING)
    after = await _tell_shares(stage)
    await stage.linger()
    stage.say(f"the burst is over: {_INFER} is deleted")
    await stage.delete(f"{_SETS}/{_INFER}")
    await stage.until_pods(_LAB, 8, State.RUNNING)
    await _tell_shares(stage)
    await stage.linger()
    await stage.delete(f"{_SETS}/{_LAB}")
    for name in _QUOTAS:
        await stage.delete(f"{_QUEUES}/{name}")
    await stage.until("the end of lab", lambda: _gone(stage))
    text = (
        f"Two queues. {_LAB} of research had all 16 GPUs while nobody else wanted any. Then {_INFER} of serving came:"
        f" “{words}.” {taken} had to leave: {after}. When the burst was over they came back."
    )
    return "teams", text


async def _tell_shares(stage: Stage) -> str:
    """A line for each queue, as `koordpy queues` has them; and the same in words."""
    found = await stage.ask("/queues", QueueList)
    queues = sorted(found.items, key=lambda queue: queue.name)
    for queue in queues:
        stage.tell("queue", _line(queue))
    return ", ".join(f"{queue.name} has {queue.allocated['gpu']} of {queue.requested['gpu']}" for queue in queues)


def _line(queue: QueueLine) -> str:
    has, due, wants = (int(float(each["gpu"] or 0)) for each in (queue.allocated, queue.fair_share, queue.requested))
    bar = "█" * min(has, due) + "▒" * max(has - due, 0) + "·" * max(wants - has, 0)
    return f"{queue.name:<8} quota {queue.quota['gpu']:>2}, share {due:>2}, has {has:>2} of {wants:>2}  {bar}"


async def _why(stage: Stage) -> str:
    """What a victim was told about whose its GPUs were, from the event."""
    for _, event in stage.seen.events:
        if event.reason == "Preempted" and event.regarding.name.startswith(f"{_LAB}-"):
            return event.note.partition("; ")[2]
    return ""


async def _gone(stage: Stage) -> bool:
    return not stage.pods(_LAB) and not stage.pods(_INFER)


def _queue(name: str, quota: int) -> Obj:
    spec = {"resources": {"gpu": {"quota": quota}}}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def _set(name: str, queue: str, replicas: int) -> Obj:
    pods = template(name, gpus=_EACH)
    spec = {
        "replicas": replicas,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": pods["metadata"]["labels"]},
        "template": pods,
    }
    metadata = {"name": name, "labels": {QUEUE: queue}}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
