"""`koordpy run`: the scheduler, alone or with the controllers beside it."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

import click

from koordpy.cli.options import begin, process_options

if TYPE_CHECKING:  # heavy, and --help must answer at once
    pass


@click.command()
@process_options(port=10251)
@click.option(
    "--with-controllers",
    is_flag=True,
    help="Run what `koordpy controllers` runs in this process too; no port of its own.",
)
@click.option(
    "--authorization",
    type=click.Choice(["off", "delegated"]),
    default="off",
    show_default=True,
    help="Who may ask this port: everybody, or whom the API server allows (TokenReview, SubjectAccessReview).",
)
def run(*, with_controllers: bool, **flags: str | int | bool | None) -> None:
    """Schedule pods that name one of our profiles (default: koord-scheduler).

    Runs until SIGTERM or Ctrl-C, then releases its lease and exits with 0.
    """
    _set_up_the_interpreter()
    from koordpy.cli.running import run_until_signal  # noqa: PLC0415

    settings = begin(flags)
    if with_controllers:
        from koordpy.app.combined import run as run_process  # noqa: PLC0415
    else:
        from koordpy.app.process import run as run_process  # noqa: PLC0415
    sys.exit(run_until_signal(run_process(settings)))


def _set_up_the_interpreter() -> None:
    """For a process that keeps much, makes many short-lived objects, and shares its machine with the API server."""
    # numpy's threads spin for work that never comes: our columns are too short to be worth sharing out.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Little of what we make is in cycles, and looking for them after each 700 objects costs a thirtieth of all time.
    gc.set_threshold(20_000, 20, 20)
