"""Help is there for every command, and at once."""

import subprocess
import sys

import pytest

from koordpy.cli import main
from tests.cli.commands import koordpy

pytestmark = pytest.mark.process

HEAVY = ("aiohttp", "kubernetes_asyncio", "msgspec", "numpy", "rich", "structlog", "yaml")


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_explains_itself(command):
    answer = koordpy(command, "--help")
    assert answer.returncode == 0
    assert f"Usage: koordpy {command}" in answer.stdout


def test_the_list_of_commands_imports_nothing_heavy():
    look = f"""
import sys
from koordpy.cli import main
main(["--help"], standalone_mode=False)
print("heavy:", [name for name in {HEAVY} if name in sys.modules])
"""
    answer = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, timeout=60, check=True)
    assert answer.stdout.splitlines()[-1] == "heavy: []"


def test_the_examples_in_the_help_stand_one_below_the_other():
    lines = koordpy("--help").stdout.splitlines()
    assert "  Try it:            koordpy demo" in lines


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["run", "--no-such-flag"],
        ["run", "--port", "http"],
        ["run", "--leader-elect=perhaps"],
        ["demo", "surplus"],
        ["embedded", "--nodes", "-1"],
        ["embedded", "--cpu", "many"],
        ["embedded", "--memory", "0"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2(arguments):
    answer = koordpy(*arguments)
    assert answer.returncode == 2
    assert "Error:" in answer.stderr
    assert "Traceback" not in answer.stderr
