"""A scheduler to be measured: its name, the configuration it runs in, and how it is started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.live import dress
from bench.live.dress import Dresser
from bench.live.objects import Json

REQUESTS_PER_SECOND = 5000  # for every scheduler that limits itself: far above what the API server takes

NOTHING_SET = "no setting for speed"
GOGC = 100  # of Go: the garbage collector runs when the heap has grown by so many percent


@dataclass(frozen=True)
class Site:
    """Where a scheduler finds its cluster, and may put its files."""

    directory: Path
    kubeconfig: Path
    url: str
    ca_path: Path
    namespace: str


def _none() -> list[Json]:
    return []


@dataclass(frozen=True)
class Scheduler:
    """A program that binds pods, in one configuration. `command` builds it, where it has to be built."""

    name: str
    command: Callable[[Site], list[str]]
    dress: Dresser = dress.koordinator
    configuration: str = ""  # version and settings, as the report, the records and the docs show them
    definitions: Callable[[], list[Json]] = _none  # CustomResourceDefinitions that it cannot be without
    built: Callable[[], object] = _none
    knows_gangs: bool = True
    decides: bool = True  # False: the ceiling, which only deals pods out


def with_gogc(percent: int, command: list[str]) -> list[str]:
    """The command, in an environment in which Go collects garbage less often."""
    return command if percent == GOGC else ["/usr/bin/env", f"GOGC={percent}", *command]
