"""What a view must be able to do, and where a visitor can go on by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from koordpy.sim.demo.seen import Seen
from koordpy.sim.demo.workload import SCHEDULER


@dataclass(frozen=True)
class Place:
    """Where things are while the demo is up."""

    directory: Path

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
            "kubectl get podgroups,pods -o wide",
            "kubectl describe podgroup huge   # why it is pending; its pods say so too",
            f"kubectl create -f {self.bigger_node}   # all 6 start",
            f"kubectl run mine --image=any \\\n    --overrides='{override}'",
        ]


class View(Protocol):
    """Shows what was seen; a context manager. It never asks the API itself."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def say(self, seen: Seen, text: str) -> None:
        """What the demo does now."""

    def refresh(self, seen: Seen) -> None:
        """Show what is new; called a few times a second."""

    def sum_up(self, seen: Seen, place: Place, *, stays: bool) -> None:
        """The story is over: what happened, and how to go on."""
