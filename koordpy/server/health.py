"""Health: the checks behind `/readyz`, each with a name and a line that says what is wrong.

`/livez` has no checks: a process whose event loop answers is alive, and a restart would cure nothing that `/readyz`
reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Check = Callable[[], str]  # what is wrong; empty when nothing is


class Health:
    """Ready when every check passes and the process is not shutting down."""

    def __init__(self, checks: Callable[[], Mapping[str, Check]]) -> None:
        self._checks = checks  # asked for each report: what is watched is known when everybody has subscribed
        self._is_shutting_down = False

    def shut_down(self) -> None:
        """Not ready from now on, so that nobody counts on a process that is about to end."""
        self._is_shutting_down = True

    def report(self, *, verbose: bool) -> tuple[bool, str]:
        """Ready or not, and the text of the answer in the format of Kubernetes' own health endpoints."""
        problems = {name: check() for name, check in self._checks().items()}
        problems["shutdown"] = "shutting down" if self._is_shutting_down else ""
        ok = not any(problems.values())
        if ok and not verbose:
            return True, "ok"
        lines = [f"[-]{name} failed: {problem}" if problem else f"[+]{name} ok" for name, problem in problems.items()]
        return ok, "\n".join([*lines, f"readyz check {'passed' if ok else 'failed'}"]) + "\n"
