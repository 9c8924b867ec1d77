"""`koordpy demo`: see it work, without a cluster."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:  # heavy, and --help must answer at once
    from koordpy.sim.demo.view import View


@click.command()
def demo() -> None:
    """Show koordpy at work on a simulated cluster.

    Starts an in-memory Kubernetes API with 24 nodes and the scheduler, submits single pods and gangs, and shows what
    happens and why. Then come five scenes: a PyTorchJob becomes a gang, two teams share GPUs, a QueueJob is restarted,
    a large job gets a reserved start, and a waiting one is explained. On a terminal it stays up until Ctrl-C, to go on
    with kubectl; in a pipe, or with DEMO=short in the environment, it ends by itself after about 40 seconds.
    """
    from koordpy.app import logs  # noqa: PLC0415
    from koordpy.cli.running import run_until_signal  # noqa: PLC0415

    logs.configure("error", "console")  # a line from the view's own watches would tear the picture
    terminal = sys.stdout.isatty()
    stays = terminal and os.environ.get("DEMO") != "short"
    sys.exit(run_until_signal(_run(_view(terminal=terminal), stays=stays)))


async def _run(view: View, *, stays: bool) -> None:
    from koordpy.sim.demo.story import run  # noqa: PLC0415

    try:
        await run(view, stays=stays)
    except* BrokenPipeError:  # `koordpy demo | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _view(*, terminal: bool) -> View:
    if not terminal or os.environ.get("TERM", "dumb") == "dumb":
        from koordpy.sim.demo.lines import Lines  # noqa: PLC0415

        return Lines(sys.stdout)
    from rich.console import Console  # noqa: PLC0415

    from koordpy.sim.demo.screen import Screen  # noqa: PLC0415

    return Screen(Console(highlight=False))
