"""The view for pipes and logs: one line per group of pods that did the same thing at the same time."""

from __future__ import annotations

import textwrap
from typing import IO, Self

from koordpy.sim.demo.gangs import why_now
from koordpy.sim.demo.seen import Seen, SeenPod, State
from koordpy.sim.demo.summary import summary, tally
from koordpy.sim.demo.tree import tree
from koordpy.sim.demo.view import Place
from koordpy.sim.demo.words import count, names, phase_of
from koordpy.sim.shell import path_line

_WIDTH = 80  # of the closing text: a terminal's, and what is pasted into a mail or a ticket
_GONE = """
The cluster has ended with the demo. `koordpy demo` on a terminal keeps it up;
or keep one yourself:
{path}  koordpy embedded --nodes 20 --kubeconfig-out kubeconfig &
  koordpy crds | kubectl --kubeconfig kubeconfig apply -f -
  koordpy run --with-controllers --kubeconfig kubeconfig &
  kubectl --kubeconfig kubeconfig get nodes"""


class Lines:
    """Timestamped lines, the time being seconds since the start."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to restore."""

    def say(self, seen: Seen, text: str) -> None:
        self._line(seen, "demo", text)

    def refresh(self, seen: Seen) -> None:
        changed, seen.changes = seen.changes, []
        groups: dict[tuple[str, ...], list[SeenPod]] = {}
        for pod in dict.fromkeys(changed):
            groups.setdefault(_alike(pod), []).append(pod)
        for pods in groups.values():
            if pods[0].state is not State.PENDING:  # that it was submitted has been said
                self._line(seen, pods[0].state.value, _what(seen, pods))
        changed_gangs, seen.gang_changes = seen.gang_changes, []
        for gang in dict.fromkeys(changed_gangs):
            if gang in seen.gangs:
                name = seen.gangs[gang].metadata.name
                self._line(seen, "podgroup", f"{name} is {phase_of(seen.gangs[gang])}")

    def sum_up(self, seen: Seen, place: Place, *, stays: bool) -> None:
        self._print("\nWhat happened, and why")
        for workload, text in summary(seen):
            self._print(_paragraph(f"  {workload:<6} ", text))
        for number, line in enumerate(tree(seen)):
            self._print(f"  {'' if number else 'net':<6} {line.plain}")
        self._print(_paragraph("  events ", f"{tally(seen)}, as `kubectl get events` shows them."))
        if stays:
            self._print("\nThe cluster stays up until Ctrl-C. In another terminal:")
            self._print("\n".join(f"  {command}" for command in place.commands()))
        else:
            self._print(_GONE.format(path=path_line()))

    def _line(self, seen: Seen, what: str, text: str) -> None:
        self._print(f"{seen.now():6.1f}s  {what:<9} {text}")

    def _print(self, text: str) -> None:
        print(text, file=self._out, flush=True)


def _alike(pod: SeenPod) -> tuple[str, ...]:
    """Pods that can share a line; a single pod that had to wait gets its own, which says for how long and for whom."""
    key = (pod.workload, pod.state.value, pod.message if pod.state is State.WAITING else "")
    alone = pod.state is State.BOUND and pod.waited_s is not None and not pod.gang
    return (*key, pod.name) if alone else key


def _what(seen: Seen, pods: list[SeenPod]) -> str:
    first, who = pods[0], names(pod.name for pod in pods)
    if first.state is State.WAITING:
        return f"{who}: {first.message}"
    if first.state is State.EVICTED:
        return f"{who}, to make room for {first.evicted_for}"
    if first.state is not State.BOUND:
        return who
    if first.gang:
        return f"{who} on {_nodes(pods)}, together{_after(pods)}{why_now(seen, pods)}"
    if first.waited_s is not None:
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


def _paragraph(head: str, text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False)
