"""What has changed since somebody last looked, in words: a line for pods that did the same thing at the same time."""

from __future__ import annotations

from collections.abc import Collection

from koordpy.sim.demo.gangs import why_now
from koordpy.sim.demo.seen import MOMENT_S, Seen, SeenPod, State
from koordpy.sim.demo.words import count, names, phase_of, reason_in, short


def changes(seen: Seen, cast: Collection[str] | None = None) -> list[tuple[str, str]]:
    """A word and a text each; what is taken here is not told again. With a cast, only of these workloads."""
    changed, seen.changes = seen.changes, []
    groups: dict[tuple[str, ...], list[SeenPod]] = {}
    for pod in dict.fromkeys(changed):
        if cast is None or pod.workload in cast:
            groups.setdefault(_alike(pod), []).append(pod)
    lines = [
        (pods[0].state.value, short(_what(seen, pods, brief=cast is not None)))
        for pods in groups.values()
        if pods[0].state is not State.PENDING  # that it was submitted has been said
    ]
    changed_gangs, seen.gang_changes = seen.gang_changes, []
    known = [seen.gangs[gang] for gang in dict.fromkeys(changed_gangs) if gang in seen.gangs]
    known = [gang for gang in known if cast is None or gang.metadata.name in cast]
    return lines + [("podgroup", f"{gang.metadata.name} is {phase_of(gang)}") for gang in known]


def _alike(pod: SeenPod) -> tuple[str, ...]:
    """Pods that can share a line; a single pod that had to wait gets its own, which says for how long and for whom."""
    key = (pod.workload, pod.state.value, pod.message if pod.state is State.WAITING else "")
    alone = pod.state is State.BOUND and (pod.waited_s or 0.0) > MOMENT_S and not pod.gang
    return (*key, pod.name) if alone else key


def _what(seen: Seen, pods: list[SeenPod], *, brief: bool) -> str:
    first, who = pods[0], names(pod.name for pod in pods)
    if first.state is State.WAITING:
        return f"{who}: {reason_in(first.message) if brief else first.message}"
    if first.state is State.EVICTED:
        return f"{who}, to make room for {first.evicted_for}"
    if first.state is not State.BOUND:
        return who
    if first.gang:
        return f"{who} on {_nodes(pods)}, together{_after(pods)}{why_now(seen, pods)}"
    if (first.waited_s or 0.0) > MOMENT_S:
        room = seen.made_room_for([first])
        thanks = f": {room[-1].name} has ended there" if room else ""
        return f"{who} on {first.node}, after {first.waited_s:.1f} s{thanks}"
    return f"{who} on {_nodes(pods)}"


def _nodes(pods: list[SeenPod]) -> str:
    nodes = {pod.node for pod in pods}
    return pods[0].node if len(nodes) == 1 else count(len(nodes), "node")


def _after(pods: list[SeenPod]) -> str:
    longest = max((pod.waited_s for pod in pods if pod.waited_s is not None), default=None)
    return f" after {longest:.1f} s" if longest is not None else ""
