"""Queues as a tree: plain lines in a pipe, guides and bars on a terminal, or the document as JSON or YAML."""

from __future__ import annotations

from typing import NamedTuple

import click
import msgspec
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from koordpy.api.answers import QueueLine, QueueList
from koordpy.api.quantity import nano_units
from koordpy.cli.slottree import guides

_HEADINGS = ("QUEUE", "RESOURCE", "QUOTA", "LIMIT", "FAIR SHARE", "ALLOCATED", "ASKED FOR", "RUNNING", "WAITING")
_BAR = 20
_SHOWN_FIRST = ("gpu", "cpu", "memory")  # GPUs are what people queue for


class Line(NamedTuple):
    """One resource of one queue; what stands in the first line of a queue is empty in the others."""

    last: tuple[bool, ...]  # of it and of each of its ancestors below the top, whether it is its parent's last
    name: str
    cells: tuple[str, ...]  # as the headings, without the name
    parts: tuple[float, float, float]  # of the bar: allocated within the share, beyond it, and up to what it is due


def lines_of(found: QueueList) -> list[Line]:
    youngest = {queue.parent: queue.name for queue in found.items}  # the last of its parent's
    last: dict[str, tuple[bool, ...]] = {}
    lines: list[Line] = []
    for queue in found.items:
        above = last.get(queue.parent or "")
        last[queue.name] = () if above is None else (*above, youngest[queue.parent] == queue.name)
        lines += _lines(queue, last[queue.name])
    return lines


def _lines(queue: QueueLine, last: tuple[bool, ...]) -> list[Line]:
    shown = [name for name in _SHOWN_FIRST if _is_shown(queue, name)] or [""]
    jobs = (str(queue.jobs.running), str(queue.jobs.waiting))
    title = queue.name if queue.state == "Ready" else f"{queue.name} ({queue.state})"
    return [
        Line(last, title if first else "", (*_cells(queue, name), *(jobs if first else ("", ""))), _parts(queue, name))
        for first, name in zip([True, *[False] * len(shown)], shown, strict=False)
    ]


def _is_shown(queue: QueueLine, name: str) -> bool:
    return queue.weight[name] is not None or queue.requested[name] != "0"


def _cells(queue: QueueLine, name: str) -> tuple[str, ...]:
    if not name:
        return ("-",) * 6
    amounts = (queue.quota, queue.limit, queue.fair_share, queue.allocated, queue.requested)
    return (name, *(each[name] or "-" for each in amounts))


def _parts(queue: QueueLine, name: str) -> tuple[float, float, float]:
    """In parts of the larger of what the queue has and what it is due."""
    if not name:
        return 0, 0, 0
    allocated = nano_units(queue.allocated[name] or 0)
    due = nano_units(queue.fair_share[name] or 0)
    whole = max(allocated, due)
    if not whole:
        return 0, 0, 0
    within = min(allocated, due) if queue.fair_share[name] is not None else allocated
    return within / whole, (allocated - within) / whole, max(due - allocated, 0) / whole


def in_text(lines: list[Line], remarks: list[str]) -> None:
    """Aligned, without colours and guides."""
    cells = [_HEADINGS, *(("  " * len(line.last) + line.name, *line.cells) for line in lines)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS))]
    for first, second, *numbers in cells:
        aligned = (number.rjust(width) for number, width in zip(numbers, widths[2:], strict=True))
        click.echo("  ".join([first.ljust(widths[0]), second.ljust(widths[1]), *aligned]).rstrip())
    for remark in remarks:
        click.echo(remark, err=True)


def in_colour(lines: list[Line], remarks: list[str]) -> None:
    """A bar is as long as the larger of what the queue has and what it is due; what is beyond the share is yellow."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate((*_HEADINGS, "")):
        table.add_column(heading, justify="left" if number in (0, 1, len(_HEADINGS)) else "right", no_wrap=True)
    for line in lines:
        before = guides(line.last) if line.name else "".join("   " if ended else "│  " for ended in line.last)
        name = Text.assemble((before, "bright_black"), line.name)
        table.add_row(name, *line.cells, _bar(line))
    console = Console(highlight=False)
    console.print(table)
    for remark in remarks:
        console.print(remark, style="yellow", markup=False, soft_wrap=True)


def _bar(line: Line) -> Text:
    within, beyond, idle = (round(part * _BAR) for part in line.parts)
    return Text.assemble(("█" * within, "green"), ("█" * beyond, "yellow"), ("░" * idle, "bright_black"))


def in_json(found: QueueList) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))


def in_yaml(found: QueueList) -> None:
    click.echo(yaml.safe_dump(msgspec.to_builtins(found), sort_keys=False), nl=False)


def remarks_of(found: QueueList) -> list[str]:
    """What is wrong with queues that are not ready."""
    wrong = [f"{queue.name}: {queue.message}" for queue in found.items if queue.message]
    return wrong if found.items else ["there are no queues: every job is scheduled as without them"]
