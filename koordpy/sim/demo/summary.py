"""What happened and why, from what was seen: one paragraph per workload."""

from __future__ import annotations

from collections.abc import Iterable

from koordpy.sim.demo.gangs import gang_story
from koordpy.sim.demo.seen import Seen, SeenPod, State
from koordpy.sim.demo.words import asks, count, names, reason_in


def summary(seen: Seen) -> list[tuple[str, str]]:
    """Workload, and what became of it."""
    by_workload: dict[str, list[SeenPod]] = {}
    for pod in seen.pods.values():
        by_workload.setdefault(pod.workload, []).append(pod)
    return [(name, _story_of(seen, pods)) for name, pods in by_workload.items()]


def tally(seen: Seen) -> str:
    """What the scheduler wrote, in one line."""
    counts = seen.event_counts
    return ", ".join(f"{number} {reason}" for reason, number in sorted(counts.items())) or "none"


def _story_of(seen: Seen, pods: list[SeenPod]) -> str:
    return gang_story(seen, pods) if pods[0].gang else _single_pods(seen, pods)


def _single_pods(seen: Seen, pods: list[SeenPod]) -> str:
    waited = [pod for pod in pods if pod.waited_s is not None]
    at_once = [pod for pod in pods if State.BOUND in pod.since and State.WAITING not in pod.since]
    waiting = [pod for pod in pods if pod.state is State.WAITING]
    parts = [f"{count(len(pods), 'pod')} of {asks(pods[0].asks)}."]
    if at_once:
        nodes = len({pod.node for pod in at_once})
        who = "All" if len(at_once) == len(pods) else str(len(at_once))
        parts.append(f"{who} found room at once, on {count(nodes, 'node')}.")
    if waited:
        parts.append(_waited(seen, waited))
    parts += [_still_waiting(seen, pod) for pod in waiting]
    parts.append(_now(pods))
    return " ".join(part for part in parts if part)


def _waited(seen: Seen, waited: list[SeenPod]) -> str:
    longest = max(pod.waited_s or 0.0 for pod in waited)
    left = [room[-1] for room in (seen.made_room_for([pod]) for pod in waited) if room]
    these = "They" if len(left) == len(waited) else f"{len(left)} of them"
    after = f" {these} were bound the moment others ended ({names(_unique(left))})." if left else ""
    who = names(pod.name for pod in waited)
    return f"{who} had to wait, up to {longest:.1f} s: “{reason_in(waited[0].message)}”{after}"


def _still_waiting(seen: Seen, pod: SeenPod) -> str:
    ending = " It would not fit on any node, not even on an empty one." if seen.is_too_big(pod) else ""
    return f"{pod.name} is waiting: “{reason_in(pod.message)}”{ending}"


def _now(pods: list[SeenPod]) -> str:
    running = sum(1 for pod in pods if pod.state is State.RUNNING)
    finished = sum(1 for pod in pods if pod.state is State.FINISHED)
    if finished == len(pods):
        return "All have finished."
    if running == len(pods):
        return "All are running." if len(pods) > 1 else "It is running."
    if running or finished:
        return f"Now {running} running, {finished} finished."
    return ""


def _unique(pods: Iterable[SeenPod]) -> list[str]:
    return list(dict.fromkeys(pod.name for pod in pods))
