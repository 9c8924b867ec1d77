"""What each process believes: for people who look at a failure, and to see whether its state is still the truth.

This is the only part of the simulation that looks into a process.
"""

from __future__ import annotations

from collections.abc import Iterator

from koordpy.app.process import Process
from koordpy.sim.simulate.machine import Machine
from koordpy.sim.simulate.truth import Truth, is_finished, is_odd, node_of
from koordpy.state.cluster import Cluster

_SAID = 15


def believed(machine: Machine) -> Iterator[str]:
    """A few lines."""
    state = "is stopped" if machine.stopped else "runs"
    yield f"{machine.name} {state}"
    if isinstance(machine.process, Process):
        yield from _state_of(machine.process)
    yield from (f"  said {line}" for line in list(machine.said)[-_SAID:])


def _state_of(process: Process) -> Iterator[str]:
    built = process.built
    for name in sorted(_nodes_of(built.cluster)):
        there = [f"{pod.name}{'' if pod.bound else ' (assumed)'}" for pod in built.cluster.pods_on(name)]
        yield f"  believes that on {name} are: {', '.join(sorted(there)) or 'no pods'}"
    for ticket in sorted(built.queue, key=lambda each: each.name):
        why = ticket.refusal.message if ticket.refusal else "not attempted"
        yield f"  believes that {ticket.name} is {ticket.state.value}: {why}"


def _nodes_of(cluster: Cluster) -> set[str]:
    return {name for name, lives in zip(cluster.nodes.names, cluster.nodes.live.tolist(), strict=True) if lives}


def drift(truth: Truth, machines: list[Machine]) -> list[str]:
    """Where the state of a scheduler differs from the truth in nodes and pods; nothing may be held for nobody."""
    nodes = {node["metadata"]["name"] for node in truth.nodes}
    true = {pod["metadata"]["uid"]: node_of(pod) for pod in truth.pods if not is_finished(pod)}
    odd = {pod["metadata"]["uid"] for pod in truth.pods if is_odd(pod)}
    wrong = []
    for machine in machines:
        if not isinstance(machine.process, Process) or machine.stopped:
            continue
        cluster = machine.process.built.cluster
        waiting = {uid for stay in machine.process.built.room for uid in stay.uids}  # NonStrict gangs, by right
        seen = {uid: record.node if uid not in waiting else "" for uid, record in cluster.pods.items()}
        if _nodes_of(cluster) != nodes:
            wrong.append(f"{machine.name} believes that the nodes are {sorted(_nodes_of(cluster))}")
        differ = sorted(uid for uid in {*seen, *true} - odd if seen.get(uid, "-") != true.get(uid, "-"))
        if differ:
            told = [f"{uid}: {seen.get(uid, 'unknown')!r} for {true.get(uid, 'gone')!r}" for uid in differ]
            wrong.append(f"{machine.name} believes of pods: {', '.join(told)}")
    return wrong
