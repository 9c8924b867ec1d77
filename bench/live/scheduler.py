"""A scheduler to be measured: its name, its configuration, and its command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.live import manifests
from bench.live.manifests import ManifestsOf
from bench.live.objects import Json
from bench.live.queues import QueuesOf

REQUESTS_PER_SECOND = 5000  # client-side limit of every scheduler that has one: far above what the API server takes

NOTHING_SET = "no setting for speed"
GOGC = 100  # of Go: the garbage collector runs when the heap has grown by so many percent


@dataclass(frozen=True)
class Site:
    """The cluster of a scheduler, and a directory for its files."""

    directory: Path
    kubeconfig: Path
    url: str
    ca_path: Path
    namespace: str


Command = Callable[[Site], list[str]]


def _none() -> list[Json]:
    return []


@dataclass(frozen=True)
class Grouper:
    """A program that makes gangs of workloads, and the objects that its installation makes."""

    command: Command
    objects: tuple[tuple[str, Json], ...] = ()


@dataclass(frozen=True)
class Scheduler:
    """A program that binds pods, in one configuration. `command` builds it if necessary.

    Some need other programs `beside` them. A `grouper` runs only where it has something to group.
    """

    name: str
    command: Command
    manifests_of: ManifestsOf = manifests.koordinator
    configuration: str = ""  # version and settings, as the report, the records and the docs show them
    definitions: Callable[[], list[Json]] = _none  # CustomResourceDefinitions that it requires
    built: Callable[[], object] = _none
    objects: tuple[tuple[str, Json], ...] = ()  # (resource, object) that its installation makes
    beside: Mapping[str, Command] = field(default_factory=dict)  # by name
    grouper: Grouper | None = None
    queues_of: QueuesOf | None = None  # None: it has no queues
    knows_gangs: bool = True
    decides: bool = True  # False: the bare client, which binds without filtering and scoring


def with_gogc(percent: int, command: list[str]) -> list[str]:
    """The command, in an environment in which Go collects garbage less often."""
    return command if percent == GOGC else ["/usr/bin/env", f"GOGC={percent}", *command]
