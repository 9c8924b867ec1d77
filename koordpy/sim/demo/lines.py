"""The view for pipes and logs: one line per group of pods that did the same thing at the same time."""

from __future__ import annotations

import textwrap
from collections.abc import Collection
from typing import IO, Self

from koordpy.sim.demo.feed import changes
from koordpy.sim.demo.seen import Seen
from koordpy.sim.demo.summary import tally
from koordpy.sim.demo.tree import tree
from koordpy.sim.demo.view import Place
from koordpy.sim.demo.words import folded
from koordpy.sim.shell import path_line

WIDTH = 80  # of the closing text: a terminal's, and what is pasted into a mail or a ticket
_GONE = """
The cluster has ended with the demo. `koordpy demo` on a terminal keeps it up;
or keep one yourself:
{path}  koordpy embedded --nodes 20 --kubeconfig-out kubeconfig &
  koordpy crds | kubectl --kubeconfig kubeconfig apply -f -
  koordpy run --with-controllers --kubeconfig kubeconfig &
  kubectl --kubeconfig kubeconfig get nodes"""


class Lines:
    """Timestamped lines, the time being seconds since the start."""

    linger_s = 0.0  # nobody waits for a pipe

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._cast: Collection[str] | None = None  # of the scene that is on

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to restore."""

    def say(self, seen: Seen, text: str) -> None:
        self._line(seen, "demo", text)

    def refresh(self, seen: Seen) -> None:
        for what, text in changes(seen, self._cast):
            self._line(seen, what, text)

    def open(self, seen: Seen, title: str, workloads: Collection[str]) -> None:
        self.refresh(seen)
        self._cast = workloads
        self._print(f"\n--- {title} ---")

    def tell(self, seen: Seen, what: str, text: str) -> None:
        self._line(seen, what, text)

    def transcript(self, seen: Seen, command: str, lines: list[str]) -> None:  # noqa: ARG002 - a command has no time
        self._print(f"$ {command}")
        for line in lines:
            self._print(folded(line, WIDTH))

    def sum_up(self, seen: Seen, place: Place, *, stays: bool) -> None:
        self._print("\nWhat happened, and why")
        for workload, text in seen.told:
            self._print(_paragraph(f"  {workload:<6} ", text))
        for number, line in enumerate(tree(seen)):
            self._print(f"  {'' if number else 'net':<6} {line.plain}")
        self._print(_paragraph("  events ", f"{tally(seen)}, as `kubectl get events` shows them."))
        if stays:
            self._print("\nThe cluster stays up until Ctrl-C. In another terminal:")
            self._print("\n".join(f"  {command}" for command in place.commands()))
        else:
            self._print(_GONE.format(path=path_line()))

    def _line(self, seen: Seen, what: str, text: str) -> None:
        head = f"{seen.now():6.1f}s  {what:<9} "
        # A scene fits a terminal's width; before it, what is said of dozens of pods is left in one line each.
        self._print(head + text if self._cast is None else _paragraph(head, text))

    def _print(self, text: str) -> None:
        print(text, file=self._out, flush=True)


def _paragraph(head: str, text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False)
