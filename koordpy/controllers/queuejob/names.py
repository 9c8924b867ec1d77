"""What a QueueJob's pods are called, and how a pod's name is read back.

A name is a function of the QueueJob, the incarnation, the task and the index, and of nothing else: whoever creates a
pod a second time, after a crash or a lost answer, is told that it exists. Names are read back from the right, so a pod
is known by its name and its owner's UID alone, whatever others do to its labels.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import msgspec

from koordpy.api.queuejob import QueueJobSpec

_MOST_INDEXES = 100_000  # replicas that a task may have
_MOST_DIGITS = 9

_NAME = re.compile(r"(?P<task>.+)-(?P<index>0|[1-9][0-9]*)-(?P<incarnation>0|[1-9][0-9]*)")


@dataclass(frozen=True, order=True, slots=True)
class Slot:
    """The place of one pod in a job."""

    task: str
    index: int


class Name(NamedTuple):
    slot: Slot
    incarnation: int


def pod_name(job: str, slot: Slot, incarnation: int) -> str:
    return f"{job}-{slot.task}-{slot.index}-{incarnation}"


def hostname(job: str, slot: Slot) -> str:
    """The same in every incarnation: the other ranks know it."""
    return f"{job}-{slot.task}-{slot.index}"


def read_name(job: str, name: str) -> Name | None:
    """None for a name that this controller never gave."""
    found = _NAME.fullmatch(name.removeprefix(f"{job}-")) if name.startswith(f"{job}-") else None
    if found is None:
        return None
    return Name(Slot(found["task"], int(found["index"])), int(found["incarnation"]))


def task_names(spec: QueueJobSpec) -> list[str]:
    return [task.name or f"task{position}" for position, task in enumerate(spec.task_specs)]


def slots(spec: QueueJobSpec) -> Iterator[Slot]:
    """Every place that is to be filled, in the order in which pods are created."""
    for name, task in zip(task_names(spec), spec.task_specs, strict=True):
        yield from (Slot(name, index) for index in range(task.replicas))


def template_hash(spec: QueueJobSpec) -> str:
    """Of everything that pods are made of, and of nothing else: replicas may change without a new incarnation.

    It is compared with what an earlier koordpy has written. Whoever changes it makes every running QueueJob anew, so a
    test knows one value by heart.
    """
    tasks = [[name, task.template, task.selector] for name, task in zip(task_names(spec), spec.task_specs, strict=True)]
    made_of = [tasks, spec.scheduler_name, spec.network]
    return hashlib.sha256(msgspec.json.encode(made_of, order="deterministic")).hexdigest()[:16]


def write_indexes(indexes: Iterable[int]) -> str:
    """`0-3,7`, as an indexed Job writes them."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def read_indexes(text: str) -> Iterator[int]:
    """What cannot be read is left out, and what no task can have: the pods themselves are then looked at again.

    Whoever may write a status may write `0-999999999` there, and must not stop the controller by it.
    """
    return islice(_read_indexes(text), _MOST_INDEXES)


def _read_indexes(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if _is_number(first) and (_is_number(last) or not dash):
            yield from range(int(first), int(last if dash else first) + 1)


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= _MOST_DIGITS
