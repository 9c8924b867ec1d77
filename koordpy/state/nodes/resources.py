"""Resource names and amounts as integers.

Every resource that a node has, or had, has a row in the node columns: CPU in thousandths, everything else in whole
units (bytes, devices, pods). The table only grows: a row, once given, means the same resource for the life of the
process. So pods are given none: what they ask for and no node has shares one row, `NOWHERE`, of which there is nothing.
Anybody may invent names in a request, and a row of its own for each would cost every node some bytes for ever.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from koordpy.api.errors import MalformedValue
from koordpy.api.quantity import milli_units, units

if TYPE_CHECKING:
    from koordpy.state.shapes import Shape

CPU, MEMORY, EPHEMERAL_STORAGE, PODS, NOWHERE = range(5)
_WELL_KNOWN = ("cpu", "memory", "ephemeral-storage", "pods")

# More than any machine has (a pebibyte), and small enough that thousands of pods asking for it do not overflow int64.
MOST = 2**50


class ResourceTable:
    """Gives each resource name its row."""

    def __init__(self) -> None:
        self.names: list[str] = [*_WELL_KNOWN, ""]
        self._rows = {name: row for row, name in enumerate(_WELL_KNOWN)}
        self._in_columns = len(self.names)  # rows that the columns have made room for
        self._lacking: weakref.WeakSet[Shape] = weakref.WeakSet()  # they ask for something that no node has

    def __len__(self) -> int:
        return len(self.names)

    def row(self, name: str) -> int:
        """The row of a resource; a new one for a name never seen before."""
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = len(self.names)
            self.names.append(name)
        return row

    def find(self, name: str) -> int:
        """The row in the columns that answers for a resource; `NOWHERE` for one that no node has ever had."""
        row = self._rows.get(name, NOWHERE)
        return row if row < self._in_columns else NOWHERE

    def lacks(self, shape: Shape) -> None:
        """The shape asks for something that is nowhere, and has to be told when that changes."""
        self._lacking.add(shape)

    def in_columns(self) -> list[Shape]:
        """The columns have made room for all rows: the shapes that were waiting for one of them."""
        new = set(self.names[self._in_columns :])
        self._in_columns = len(self.names)
        told = [shape for shape in self._lacking if any(name in new for name, _ in shape.traits.needed)]
        self._lacking.difference_update(told)
        return told


def amount(name: str, quantity: str | int, field: str) -> int:
    """A quantity as the integer the columns hold; `field` says where it was found, for the error."""
    try:
        value = milli_units(quantity) if name == "cpu" else units(quantity)
    except MalformedValue as error:
        raise MalformedValue(f"{field}[{name}]", quantity, error.problem) from None
    if value < 0:
        raise MalformedValue(f"{field}[{name}]", quantity, "is negative")
    return min(value, MOST)


def shown(name: str, value: int) -> str:
    """An amount as people write it: `1500m` or `2` of cpu, `64Gi` of memory."""
    if name == "cpu":
        return f"{value // 1000}" if value % 1000 == 0 else f"{value}m"
    if name in ("memory", "ephemeral-storage") or name.startswith("hugepages-"):
        for unit, size in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
            if value >= size and value % size == 0:
                return f"{value // size}{unit}"
            if value >= 10 * size:
                return f"{value / size:.1f}{unit}"
    return str(value)
