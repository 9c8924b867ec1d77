"""`koordpy run`: the scheduler, alone or with the controllers beside it."""

from __future__ import annotations

import gc
import os
import secrets
import sys
from dataclasses import replace
from pathlib import Path

import click

from koordpy.cli.options import begin, process_options


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
@click.option(
    "--authorization-always-allow-paths",
    metavar="PATH,...",
    default="",
    callback=lambda _context, _option, value: tuple(path.strip() for path in value.split(",") if path.strip()),
    help="Paths that everybody may ask for beside health, such as /metrics.",
)
@click.option(
    "--journal",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Keep what is heard and decided in files there, for `koordpy replay`; 1 GiB, at worst 2.",
)
def run(*, with_controllers: bool, journal: Path | None, **flags: str | int | bool | tuple[str, ...] | None) -> None:
    """Schedule pods that name one of our profiles (default: koord-scheduler).

    Runs until SIGTERM or Ctrl-C, then releases its lease and exits with 0.
    """
    if journal is not None:
        _fix_the_hash_seed()
    _set_up_the_interpreter()
    from koordpy.cli.running import run_until_signal  # noqa: PLC0415

    settings = begin(flags)
    if journal is not None:
        from koordpy.app.journal.settings import JournalSettings  # noqa: PLC0415

        config = Path(str(flags["config"])).read_text(encoding="utf-8") if flags["config"] else None
        settings = replace(settings, journal=JournalSettings(journal, config))
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


def _fix_the_hash_seed() -> None:
    """The order of a set depends on a secret number, chosen at the start: a replay needs to know it."""
    if not os.environ.get("PYTHONHASHSEED", "").isdigit():
        seed = str(secrets.randbelow(2**32))
        os.execve(sys.executable, sys.orig_argv, os.environ | {"PYTHONHASHSEED": seed})  # noqa: S606
