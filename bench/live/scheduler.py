"""A scheduler to be measured: its name, its configuration, and its command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.live import manifests
from bench.live.manifests import ManifestsOf
from bench.live.objects import Json

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


def _none() -> list[Json]:
    return []


@dataclass(frozen=True)
class Scheduler:
    """A program that binds pods, in one configuration. `command` builds it if necessary."""

    name: str
    command: Callable[[Site], list[str]]
    manifests_of: ManifestsOf = manifests.koordinator
    configuration: str = ""  # version and settings, as the report, the records and the docs show them
    definitions: Callable[[], list[Json]] = _none  # CustomResourceDefinitions that it requires
    built: Callable[[], object] = _none
    knows_gangs: bool = True
    decides: bool = True  # False: the bare client, which binds without filtering and scoring


def with_gogc(percent: int, command: list[str]) -> list[str]:
    """The command, in an environment in which Go collects garbage less often."""
    return command if percent == GOGC else ["/usr/bin/env", f"GOGC={percent}", *command]
