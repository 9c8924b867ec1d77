"""Pods, amounts and times in words, the same in both views."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from koordpy.api.podgroup.coscheduling import PodGroup
from koordpy.sim.demo.workload import GPU
from koordpy.state.requests import Amounts

_UID = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def short(text: str) -> str:
    """Names that the grouper made, without the UID in them: `pg-mnist-…`."""
    return _UID.sub("-…", text)


def cores(milli: int) -> str:
    """CPU as people count it: 8, 0.5."""
    return f"{milli / 1000:g}"


def quantity(resource: str, value: int) -> str:
    """An amount with its resource, from the integer that the columns hold."""
    if resource == "cpu":
        return f"{cores(value)} cpu"
    if resource == "memory":
        return f"{value / 2**30:g}Gi memory"
    return f"{value} GPU{'' if value == 1 else 's'}" if resource == GPU else f"{value} {resource}"


def asks(amounts: Amounts) -> str:
    """`2 cpu, 8Gi memory, 2 GPUs`; that every pod asks for one place among the node's pods goes without saying."""
    named = [quantity(resource, amounts[resource]) for resource in sorted(amounts) if resource != "pods"]
    return ", ".join(named) or "nothing"


def names(pods: Iterable[str]) -> str:
    """Names with their numbers folded: `batch-1…28, train-9`."""
    numbered: dict[str, list[int]] = {}
    plain = []
    for name in pods:
        stem, _, number = name.rpartition("-")
        if stem and number.isdigit():
            numbered.setdefault(stem, []).append(int(number))
        else:
            plain.append(name)
    folded = [f"{stem}-{_ranges(sorted(numbers))}" for stem, numbers in numbered.items()]
    return ", ".join(folded + plain)


def phase_of(gang: PodGroup) -> str:
    """`Running: 8 of 8 running`, from the status of a PodGroup."""
    status = gang.status
    number, what = {
        "Running": (status.running, "running"),
        "Finished": (status.succeeded, "succeeded"),
        "Failed": (status.failed, "failed"),
    }.get(status.phase, (status.scheduled, "scheduled"))
    return f"{status.phase}: {number} of {gang.spec.min_member} {what}"


def reason_in(message: str) -> str:
    """The scheduler's words without those about preemption: whom it evicts is told otherwise."""
    return message.partition(" preemption: ")[0]


def folded(line: str, width: int) -> str:
    """A line of somebody else's, broken where it would be too wide; what follows is indented under its beginning."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True) or line


def count(number: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _ranges(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(_run(run) for run in runs)


def _run(run: list[int]) -> str:
    if len(run) > 2:
        return f"{run[0]}…{run[-1]}"
    return ",".join(map(str, run))
