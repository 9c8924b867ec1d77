"""The slots of a cluster as a tree: plain lines in a pipe, colours and guides on a terminal, or JSON and YAML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import click
import msgspec
import numpy as np
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from koordpy.api.topology import CLUSTER_LAYER, NODE_LAYER
from koordpy.app.process import CannotStart
from koordpy.cli.slots import Asked, Survey
from koordpy.controllers.topology.domains import Domain
from koordpy.state.arrays import Ints
from koordpy.state.natural import natural

_HEADINGS = ("DOMAIN", "NODES", "FREE", "USED")
_BAR = 10


class Row(NamedTuple):
    """One domain, or one node. `last` says of it and of each of its ancestors whether it is its parent's last."""

    last: tuple[bool, ...]
    layer: str
    name: str  # none of the cluster, and of the nodes that lack the label of the layer
    nodes: int
    free: int
    used: int

    @property
    def label(self) -> str:
        if self.layer == CLUSTER_LAYER:
            return "cluster"
        return self.name if self.layer == NODE_LAYER else f"{self.layer}/{self.name or '(no label)'}"


def rows_of(survey: Survey, depth: str | None) -> list[Row]:
    """Down to a layer, or to the one above the nodes; raises CannotStart when there is no such layer."""
    layers = [level.layer for level in survey.cluster.topology.levels]
    wanted = layers[-2] if depth is None else depth
    matching = [number for number, layer in enumerate(layers) if layer.lower() == wanted.lower()]
    if not matching:
        raise CannotStart(f"--depth {depth!r} is none of {', '.join(layers)}")
    return list(_rows(survey, survey.tree, matching[0], ()))


def _rows(survey: Survey, domain: Domain, more: int, last: tuple[bool, ...]) -> Iterator[Row]:
    yield _row(survey, last, (domain.layer, domain.name), domain.rows)
    if more and domain.child_layer == NODE_LAYER:
        names = survey.cluster.nodes.names
        nodes = sorted(domain.rows.tolist(), key=lambda row: (natural(names[row]), names[row]))
        for number, row in enumerate(nodes, 1):
            here = np.array([row], dtype=np.int64)
            yield _row(survey, (*last, number == len(nodes)), (NODE_LAYER, names[row]), here)
    elif more:
        for number, child in enumerate(domain.children, 1):
            yield from _rows(survey, child, more - 1, (*last, number == len(domain.children)))


def _row(survey: Survey, last: tuple[bool, ...], called: tuple[str, str], rows: Ints) -> Row:
    free = int(survey.free[rows].sum())
    return Row(last, *called, len(rows), free, int(survey.on_empty[rows].sum()) - free)


def document_of(rows: list[Row], asked: Asked, remarks: tuple[str, ...]) -> dict[str, Any]:
    """One object: what was asked for, the tree from the cluster down, and the remarks."""
    above: list[dict[str, Any]] = []
    for row in rows:
        domain = {"layer": row.layer, "name": row.name, "nodes": row.nodes, "free": row.free, "used": row.used}
        del above[len(row.last) :]
        if above:
            above[-1].setdefault("children", []).append(domain)
        above.append(domain)
    tolerations = [msgspec.to_builtins(toleration) for toleration in asked.tolerations]
    return {"request": asked.request, "tolerations": tolerations, "tree": above[0], "remarks": list(remarks)}


def in_json(document: dict[str, Any]) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))


def in_yaml(document: dict[str, Any]) -> None:
    click.echo(yaml.safe_dump(document, sort_keys=False), nl=False)


def in_text(rows: list[Row], remarks: tuple[str, ...]) -> None:
    """Aligned, without colours and guides."""
    cells = [_HEADINGS, *(("  " * len(row.last) + row.label, *map(str, row[3:])) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS))]
    for first, *numbers in cells:
        aligned = (number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True))
        click.echo("  ".join([first.ljust(widths[0]), *aligned]))
    for remark in remarks:
        click.echo(remark, err=True)


def in_colour(rows: list[Row], remarks: tuple[str, ...]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(_HEADINGS[0], no_wrap=True)
    for heading in (*_HEADINGS[1:], ""):
        table.add_column(heading, justify="right")
    for row in rows:
        free = Text(str(row.free), style="green" if row.free else "bright_black")
        domain = Text.assemble((guides(row.last), "bright_black"), row.label)
        table.add_row(domain, str(row.nodes), free, str(row.used), _bar(row))
    console = Console(highlight=False)
    console.print(table)
    for remark in remarks:
        console.print(remark, style="yellow", markup=False, soft_wrap=True)


def guides(last: tuple[bool, ...]) -> str:
    """The lines of a tree before a name; `last` is that of a `Row`."""
    if not last:
        return ""
    return "".join("   " if ended else "│  " for ended in last[:-1]) + ("└─ " if last[-1] else "├─ ")


def _bar(row: Row) -> Text:
    """Full cells are used slots."""
    slots = row.free + row.used
    full = -(-row.used * _BAR // slots) if slots else 0
    return Text.assemble(("█" * full, "cyan"), ("░" * (_BAR - full if slots else 0), "bright_black"))
