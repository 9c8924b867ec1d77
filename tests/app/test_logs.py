"""Log lines: in the format that was asked for, each with a time that carries its zone."""

import json
import re
import time

import pytest
import structlog

from koordpy.app import logs


@pytest.fixture
def written(monkeypatch, capsys):
    """What is written, in a zone that is not UTC."""
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    before = structlog.get_config()
    yield capsys
    structlog.configure(**before)
    monkeypatch.undo()
    time.tzset()


def test_times_in_json_are_utc_and_say_so(written):
    logs.configure("info", "json")
    structlog.get_logger().info("hello")
    (line,) = written.readouterr().err.splitlines()
    assert re.fullmatch(r"[0-9-]+T[0-9:.]+Z", json.loads(line)["timestamp"])


def test_times_on_a_terminal_are_local_and_carry_the_zone(written):
    logs.configure("info", "console")
    structlog.get_logger().info("hello")
    (line,) = written.readouterr().err.splitlines()
    assert re.match(r"[0-9-]+T[0-9:.]+\+0530 ", line), line
