"""Health: what must be true before traffic, as named checks that say what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Check = Callable[[], str]  # what is wrong; empty when all is well


@dataclass
class Health:
    """`/livez` says the loop turns; `/readyz` says the picture is complete."""

    ready: dict[str, Check] = field(default_factory=dict)
    stopping: bool = False

    def report(self, *, verbose: bool) -> tuple[bool, str]:
        """Ready or not, and the text of the answer in the format of Kubernetes' own health endpoints."""
        problems = {name: check() for name, check in self.ready.items()}
        problems["shutdown"] = "shutting down" if self.stopping else ""
        ok = not any(problems.values())
        if ok and not verbose:
            return True, "ok"
        lines = [f"[-]{name} failed: {problem}" if problem else f"[+]{name} ok" for name, problem in problems.items()]
        return ok, "\n".join([*lines, f"readyz check {'passed' if ok else 'failed'}"]) + "\n"
