"""Output that cannot be written ends any command with one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from koordpy.cli.output import Commands
from tests.cli.commands import TIME_LIMIT_S

pytestmark = pytest.mark.process

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


LOSES_ITS_READER = """
import click
from koordpy.cli.output import Commands
@click.command()
def fails():
    raise ExceptionGroup("of tasks", [BrokenPipeError()])
Commands(commands={"fails": fails})(["fails"])
"""


def printing_to(output: object, *arguments: str, unbuffered: str = "") -> tuple[int, str]:
    """The exit code, and what standard error has."""
    return python(output, "-m", "koordpy", *arguments, PYTHONUNBUFFERED=unbuffered)


def python(output: object, *arguments: str, **more: str) -> tuple[int, str]:
    command, env = [sys.executable, *arguments], {**os.environ, **more}
    pipe, limit = subprocess.PIPE, TIME_LIMIT_S
    ended = subprocess.run(command, stdout=output, stderr=pipe, text=True, timeout=limit, env=env, check=False)
    return ended.returncode, ended.stderr


@needs_full
@pytest.mark.parametrize("command", ["crds", "install manifests", "--version", "--help", "config --help"])
def test_a_disk_that_is_full_is_one_line(command: str):
    with FULL.open("w") as full:
        assert printing_to(full, *command.split()) == (1, "koordpy: standard output: No space left on device\n")


@needs_full
def test_so_it_is_where_python_keeps_nothing_back():
    with FULL.open("w") as full:
        assert printing_to(full, "crds", unbuffered="1") == (1, "koordpy: standard output: No space left on device\n")


@needs_full
def test_so_it_is_for_a_command_that_prints_meanwhile():
    """Its output is written by a task of many."""
    with FULL.open("w") as full:
        ended = printing_to(full, "embedded", "--nodes", "1")
    assert ended == (1, "koordpy: standard output: No space left on device\n")


@pytest.mark.parametrize("arguments", [("-m", "koordpy", "crds"), ("-c", LOSES_ITS_READER)])
def test_a_reader_that_has_seen_enough_is_no_mistake(arguments: tuple[str, ...]):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as nobody_reads:
        assert python(nobody_reads, *arguments) == (1, "")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ExceptionGroup("", [OSError(5, "")])])
def test_an_error_of_something_else_is_none_of_the_output(error: Exception):
    @click.command()
    def fails() -> None:
        raise error

    assert CliRunner().invoke(Commands(commands={"fails": fails}), ["fails"]).exception is error
