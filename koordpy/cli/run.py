"""`koordpy run`: the scheduler, alone or with the controllers beside it."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

import click

from koordpy.cli.options import begin, process_options

if TYPE_CHECKING:  # heavy, and --help must answer at once
    from koordpy.app.settings import Settings


@click.command()
@process_options(port=10251)
@click.option(
    "--with-controllers",
    is_flag=True,
    help="Run what `koordpy controllers` runs in this process too; no port of its own.",
)
def run(*, with_controllers: bool, **flags: str | int | bool | None) -> None:
    """Schedule pods that name one of our profiles (default: koord-scheduler).

    Runs until SIGTERM or Ctrl-C, then releases its lease and exits with 0.
    """
    _set_up_the_interpreter()
    from koordpy.app.process import run as run_process  # noqa: PLC0415
    from koordpy.cli.running import run_until_signal  # noqa: PLC0415

    settings = begin(flags)
    sys.exit(run_until_signal(_both(settings) if with_controllers else run_process(settings)))


def _set_up_the_interpreter() -> None:
    """For a process that keeps much, makes many short-lived objects, and shares its machine with the API server."""
    # numpy's threads spin for work that never comes: our columns are too short to be worth sharing out.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Little of what we make is in cycles, and looking for them after each 700 objects costs a thirtieth of all time.
    gc.set_threshold(20_000, 20, 20)


async def _both(settings: Settings) -> None:
    """Each with its own connections and its own lease: what is slow to write must not stand before a bind."""
    import asyncio  # noqa: PLC0415

    from koordpy.app.controllers import run as run_controllers  # noqa: PLC0415
    from koordpy.app.process import run as run_process  # noqa: PLC0415

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run_process(settings))
        tasks.create_task(run_controllers(settings, serving=None))
