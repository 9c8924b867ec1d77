"""`koordpy replay`: a journal of `koordpy run --journal`, decided once more."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:  # heavy, and --help must answer at once
    from koordpy.app.journal.files import Head
    from koordpy.app.journal.replay import Outcome
    from koordpy.app.settings import Settings


@click.command()
@click.argument("path", metavar="DIR|FILE", type=click.Path(path_type=Path))
def replay(path: Path) -> None:
    """Decide everything in a journal once more, and say where a decision differs.

    Exits with 0 if every decision is the same, with 1 at the first that is not, with 2 if there is no journal.
    """
    from koordpy.app.journal.files import BadJournal, files_in  # noqa: PLC0415

    try:
        if not path.is_dir():
            sys.exit(_replay_file(path))
        files = files_in(path)
        if not files:
            raise BadJournal(f"{path}: no file of a journal in it")  # noqa: TRY301
    except (BadJournal, OSError) as error:
        click.echo(f"koordpy: {error}", err=True)
        sys.exit(2)
    command = [sys.executable, "-m", "koordpy", "replay"]
    sys.exit(max(subprocess.run([*command, str(file)], check=False).returncode for file in files))  # noqa: S603


def _replay_file(path: Path) -> int:
    """In a process in which sets have the order that they had: another one than this, if need be."""
    from koordpy.app import logs  # noqa: PLC0415
    from koordpy.app.journal.files import hash_seed, read_head  # noqa: PLC0415

    head = read_head(path)
    if head.hash_seed != hash_seed() and head.hash_seed:
        sys.stdout.flush()
        os.execve(sys.executable, sys.orig_argv, os.environ | {"PYTHONHASHSEED": head.hash_seed})  # noqa: S606
    logs.configure("error", "auto")
    _compare_versions(path, head)
    from koordpy.app.journal.replay import replay as decide_again  # noqa: PLC0415

    outcome = decide_again(path, _settings_of(head))
    _tell(path, outcome)
    return 1 if outcome.difference else 0


def _compare_versions(path: Path, head: Head) -> None:
    from koordpy import __version__  # noqa: PLC0415

    if head.koordpy != __version__:
        text = f"koordpy: {path}: recorded by koordpy {head.koordpy}, replayed by {__version__}: it may differ"
        click.echo(text, err=True)


def _settings_of(head: Head) -> Settings:
    from koordpy.app.configfile import BadConfig, read_settings  # noqa: PLC0415
    from koordpy.app.journal.files import BadJournal  # noqa: PLC0415
    from koordpy.app.settings import Settings  # noqa: PLC0415

    if head.config is None:
        return Settings()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(head.config)
        file.flush()
        try:
            return read_settings(file.name)[0]
        except BadConfig as error:
            raise BadJournal(f"its configuration cannot be read: {error}") from None


def _tell(path: Path, outcome: Outcome) -> None:
    counts = outcome.decisions
    click.echo(
        f"{path.name}: {outcome.entries} entries, {counts['start']} jobs started, {counts['refuse']} refused, "
        f"{counts['evict']} preemptions" + ("; differs:" if outcome.difference else ", all as recorded")
    )
    if outcome.difference:
        click.echo(f"  {outcome.difference}")
