"""The view for terminals: nodes with their load, pods by state, the scheduler's words, the last events.

What does not fit into the window is left out whole, the least important first, so that nothing is cut in the middle.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from koordpy.sim.demo.feed import changes
from koordpy.sim.demo.lines import Lines
from koordpy.sim.demo.seen import Seen, SeenPod, State
from koordpy.sim.demo.tree import tree
from koordpy.sim.demo.view import Place
from koordpy.sim.demo.words import asks, cores, folded, names, phase_of, short
from koordpy.sim.demo.workload import GPU

_SHOWN = (State.PENDING, State.WAITING, State.BOUND, State.RUNNING, State.EVICTED, State.FINISHED)
_COLOURS = {
    State.PENDING: "yellow",
    State.WAITING: "red",
    State.BOUND: "cyan",
    State.RUNNING: "green",
    State.EVICTED: "bright_red",
    State.FINISHED: "bright_black",
}
_WORDS = {state.value: colour for state, colour in _COLOURS.items()} | {"demo": "bold"}
_BAR = 8
_CELL = 29  # columns that one node takes


class Screen:
    """Live on the alternate screen; when it closes, the summary stays behind on the normal one."""

    linger_s = 2.5

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, screen=True, auto_refresh=False)
        self._caption = ""
        self._over: tuple[Seen, Place] | None = None
        self._scene = ""  # its title
        self._cast: Collection[str] = ()  # the workloads that it is about
        self._told: list[Text] = []  # of the scene that is on

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        if self._over is not None:
            seen, place = self._over
            Lines(self._console.file).sum_up(seen, place, stays=False)

    def say(self, seen: Seen, text: str) -> None:
        self._caption = text
        if self._scene:
            self.tell(seen, "demo", text)
        self.refresh(seen)

    def open(self, seen: Seen, title: str, workloads: Collection[str]) -> None:
        changes(seen)
        self._scene, self._cast, self._told = title, workloads, []
        self.refresh(seen)

    def tell(self, seen: Seen, what: str, text: str) -> None:
        head = f"{seen.now():5.1f}s  {what:<9} "
        for number, line in enumerate(textwrap.wrap(text, self._console.width - len(head), break_on_hyphens=False)):
            start = (head, _WORDS.get(what, "")) if number == 0 else " " * len(head)
            self._told.append(Text.assemble(start, line))

    def transcript(self, seen: Seen, command: str, lines: list[str]) -> None:
        self._told.append(Text(f"$ {command}", "bold"))
        self._told += [Text(folded(line, self._console.width)) for line in lines]
        self.refresh(seen)

    def refresh(self, seen: Seen) -> None:
        new = changes(seen, self._cast)
        for what, text in new if self._scene else []:  # without a scene this view shows states, and no changes
            self.tell(seen, what, text)
        self._live.update(self.picture(seen), refresh=True)

    def sum_up(self, seen: Seen, place: Place, *, stays: bool) -> None:
        self._over, self._scene = (seen, place), ""
        self._caption = "that was all; Ctrl-C ends the demo" if stays else "that was all"
        self.refresh(seen)

    def picture(self, seen: Seen) -> RenderableType:
        """Everything that fits into the window, in this order; events fill what is left."""
        return Group(*self._fitting(seen, self._of_scene(seen) if self._scene else self._of_cluster(seen)))

    def _of_scene(self, seen: Seen) -> list[tuple[int, RenderableType]]:
        """What the scene tells comes first; of pods and nodes only those that it is about."""
        told = Text("\n").join(self._told[-(self._console.height - 2) :])
        told_first: list[tuple[int, RenderableType]] = [(9, self._head(seen)), (8, _titled(self._scene, told))]
        if not self._cast:
            return told_first
        return [
            *told_first,
            (7, _titled("waiting, in the scheduler's words", _waiting(seen, self._cast))),
            (4, _titled("pods", _pods(seen, self._cast))),
            (3, _titled("nodes: cpu asked for by their pods, and GPUs in use", _nodes(seen, self._console.width))),
        ]

    def _of_cluster(self, seen: Seen) -> list[tuple[int, RenderableType]]:
        sections: list[tuple[int, RenderableType]] = [  # importance, section
            (9, self._head(seen)),
            (3, _titled("nodes: cpu asked for by their pods, and GPUs in use", _nodes(seen, self._console.width))),
            (4, _titled("pods", _pods(seen))),
            (5, _titled("gangs: all of a gang starts together, or none; and what its PodGroup says", _gangs(seen))),
            (8, _titled("waiting, in the scheduler's words", _waiting(seen))),
        ]
        if network := tree(seen):
            sections.insert(4, (5, _titled("network: nodes below their leaves and spines", Group(*network))))
        if self._over is not None:
            sections.append((6, _titled("what happened, and why", _summary(seen))))
            sections.append((7, _titled("go on by hand, in another terminal", _commands(self._over[1]))))
        return sections

    def _head(self, seen: Seen) -> Text:
        caption = "" if self._scene else self._caption  # a scene tells it among its lines
        return _line(f"[b]koordpy demo[/b]   {len(seen.nodes)} simulated nodes   {seen.now():.0f} s   [i]{caption}[/i]")

    def _fitting(self, seen: Seen, sections: list[tuple[int, RenderableType]]) -> Iterable[RenderableType]:
        left = self._console.height
        chosen = []
        for _, part in sorted(sections, key=lambda section: -section[0]):
            height = len(self._console.render_lines(part))
            if height <= left:
                chosen.append(part)
                left -= height
        parts = [part for _, part in sections if part in chosen]
        return [*parts, _titled("last events", _events(seen, left - 1))] if left > 1 else parts


def _line(markup: str) -> Text:
    text = Text.from_markup(markup, overflow="ellipsis")
    text.no_wrap = True
    return text


def _titled(title: str, body: RenderableType) -> Group:
    return Group(Rule(title, align="left", style="bright_black"), body)


def _nodes(seen: Seen, width: int) -> Table:
    cells = [_node(name, has, seen.used(name)) for name, has in sorted(seen.nodes.items())]
    across = max(1, width // _CELL)
    down = -(-len(cells) // across)
    grid = Table.grid(padding=(0, 2))
    for row in range(down):  # names run downwards, as in `ls`
        grid.add_row(*cells[row::down])
    return grid


def _node(name: str, has: dict[str, int], used: dict[str, int]) -> Text:
    cpu, of = used.get("cpu", 0), has.get("cpu", 0)
    full = round(_BAR * cpu / of) if of else 0
    text = Text.assemble(f"{name:<7}", ("█" * full, "green"), ("░" * (_BAR - full), "bright_black"))
    text.append(f" {cores(cpu):>3}/{cores(of)}")
    if GPU in has:
        taken = used.get(GPU, 0)
        text.append(" " + "■" * taken, "magenta").append("□" * (has[GPU] - taken), "bright_black")
    return text


def _pods(seen: Seen, only: Collection[str] | None = None) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bright_black")
    table.add_column("workload")
    table.add_column("each asks for")
    for state in _SHOWN:
        table.add_column(state.value, justify="right")
    for workload, pods in _by_workload(seen).items():
        if only is not None and workload not in only:
            continue
        numbers = [sum(1 for pod in pods if pod.state is state) for state in _SHOWN]
        cells = [
            Text(str(n or "·"), _COLOURS[s] if n else "bright_black") for n, s in zip(numbers, _SHOWN, strict=True)
        ]
        table.add_row(workload, asks(pods[0].asks), *cells)
    return table


def _gangs(seen: Seen) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for key, gang in seen.gangs.items():
        members = [pod for pod in seen.pods.values() if pod.gang == key and pod.state is not State.DELETED]
        boxes = Text("").join(Text("■", _COLOURS[pod.state]) for pod in members)
        boxes.append("□" * (gang.spec.min_member - len(members)), "bright_black")
        table.add_row(gang.metadata.name, boxes, phase_of(gang) if gang.status.phase else "")
    return table if seen.gangs else Text("none yet", "bright_black")


def _waiting(seen: Seen, only: Collection[str] | None = None) -> RenderableType:
    by_reason: dict[tuple[str, str], list[str]] = {}
    for pod in seen.pods.values():
        if pod.state is State.WAITING and (only is None or pod.workload in only):
            by_reason.setdefault((pod.workload, pod.message), []).append(pod.name)
    table = Table.grid(padding=(0, 2))
    for (_, message), waiting in by_reason.items():
        table.add_row(Text(names(waiting), "red"), short(message))
    return table if by_reason else Text("nothing", "bright_black")


def _summary(seen: Seen) -> Table:
    table = Table.grid(padding=(0, 2))
    for workload, text in seen.told:
        table.add_row(Text(workload, "bold"), text)
    return table


def _commands(place: Place) -> Text:
    return Text("\n".join(place.commands()), "cyan")


def _events(seen: Seen, rows: int) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    for at, event in list(seen.events)[-rows:]:
        text.append(f"{at:5.1f}s  ", "bright_black")
        text.append(f"{event.reason:<16}  ", "red" if event.type == "Warning" else "green")
        text.append(short(f"{event.regarding.name}: {event.note}\n"))
    text.rstrip()
    return text


def _by_workload(seen: Seen) -> dict[str, list[SeenPod]]:
    groups: dict[str, list[SeenPod]] = {}
    for pod in seen.pods.values():
        if pod.state is not State.DELETED:
            groups.setdefault(pod.workload, []).append(pod)
    return groups
