"""What a view must be able to do, and where a visitor can go on by hand."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from koordpy.sim.demo.seen import Seen
from koordpy.sim.demo.workload import SCHEDULER


@dataclass
class Place:
    """Where things are while the demo is up."""

    directory: Path
    server: str = ""  # where the scheduler answers, once it does

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def bigger_node(self) -> Path:
        return self.directory / "bigger-node.yaml"

    @property
    def log(self) -> Path:
        return self.directory / "scheduler.log"

    def commands(self) -> list[str]:
        """What to try with kubectl."""
        override = f'{{"spec":{{"schedulerName":"{SCHEDULER}"}}}}'
        return [
            f"export KUBECONFIG={self.kubeconfig}",
            "kubectl get pg,pods -o wide",
            f"koordpy explain default/huge --server {self.server}   # why?",
            f"kubectl create -f {self.bigger_node}   # all 6 start",
            f"kubectl run mine --image=any \\\n    --overrides='{override}'",
        ]


class View(Protocol):
    """Shows what was seen; a context manager. It never asks the API itself."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    linger_s: float  # how long a reader needs for what a scene has told

    def say(self, seen: Seen, text: str) -> None:
        """What the demo does now."""

    def open(self, seen: Seen, title: str, workloads: Collection[str]) -> None:
        """A scene begins, and what it is about."""

    def tell(self, seen: Seen, what: str, text: str) -> None:
        """What a scene has read; `what` is one word."""

    def transcript(self, seen: Seen, command: str, lines: list[str]) -> None:
        """A command, and what it printed."""

    def refresh(self, seen: Seen) -> None:
        """Show what is new; called a few times a second."""

    def sum_up(self, seen: Seen, place: Place, *, stays: bool) -> None:
        """The story is over: what happened, and how to go on."""
