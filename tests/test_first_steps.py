"""`docs/first-steps.md`, word for word: every command is run, and prints what the page says that it prints."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.controlplane.build import build

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "first-steps.md").read_text()
BLOCK = re.compile(r"^```(sh)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "=== block "
TIME_LIMIT_S = 400
PORT = "10251"  # of the page; another one is taken here, because others test on this machine too
DIFFERS = (  # from run to run
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"(?<![\w.])(\d+m)?\d+s\b"), "AGE"),
    (re.compile(r"\s+"), " "),
)


def steps() -> Iterator[tuple[str, list[str]]]:
    """Commands, with what is shown of their output."""
    commands = ""
    for kind, text in BLOCK.findall(PAGE):
        if kind and commands:
            yield commands, []
        if kind:
            commands = text
        else:
            yield commands, [line for line in text.splitlines() if line.strip()]
            commands = ""
    if commands:
        yield commands, []


def plain(line: str) -> str:
    for pattern, word in DIFFERS:
        line = pattern.sub(word, line)
    return line.strip()


def is_printed(line: str, printed: list[str]) -> bool:
    """A line that ends in … is cut."""
    wanted = plain(line)
    if wanted.endswith("…"):
        return any(each.startswith(wanted.removesuffix("…").strip()) for each in printed)
    return wanted in printed


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with the examples, and with koordpy and kubectl in `bin`."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "koordpy").write_text(f'#!/bin/sh\nexec {sys.executable} -m koordpy "$@"\n')
    (programs / "koordpy").chmod(0o755)
    (programs / "kubectl").symlink_to(build(("kubectl",))["kubectl"])
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def run(script: str, place: Path) -> str:
    """Its output; what it has left running is ended with it."""
    environment = {**os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}", "HOME": str(place)}
    environment["PYTHONPATH"] = str(ROOT)
    with (place / "out").open("w") as out:
        process = subprocess.Popen(
            ["bash", "-ec", script],
            cwd=place,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(TIME_LIMIT_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    text = (place / "out").read_text()
    assert code == 0, text
    return text


@pytest.mark.real  # it needs the kubectl that is built with the control plane
@pytest.mark.timeout(TIME_LIMIT_S + 20)
def test_the_first_steps_print_what_the_page_says(place: Path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    told = list(steps())
    script = "".join(f"echo '{MARK}{number}'\n{commands}" for number, (commands, _) in enumerate(told))
    script = script.replace("koordpy run ", f"koordpy run --port {PORT} ").replace(PORT, port)
    printed = re.split(rf"^{MARK}\d+\n", run(script, place), flags=re.MULTILINE)[1:]
    for (commands, shown), text in zip(told, printed, strict=True):
        lines = [plain(line) for line in text.splitlines()]
        missing = [line for line in shown if not is_printed(line, lines)]
        assert not missing, f"after\n{commands}\nthere is no\n{missing}\nbut\n{text}"


def test_a_line_that_is_not_printed_would_be_found():
    assert not is_printed("train  Running  3", [plain("train  Pending  3")])
    assert is_printed("train  Running  3 …", [plain("train   Running 3  4s")])


def test_times_and_ages_may_differ():
    assert is_printed("train  Running  3s  2026-11-18T07:04:59Z", [plain("train Running 1m10s 2027-01-01T00:00:00.5Z")])
