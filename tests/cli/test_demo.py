"""`koordpy demo`, as a newcomer runs it; the words and the bookkeeping behind it, without a cluster."""

import os
import signal
import subprocess

import pytest

from koordpy.demo.words import names
from tests.cli.commands import child_of, ended_by, exists, koordpy, started


@pytest.fixture(scope="module")
def told() -> subprocess.CompletedProcess[str]:
    return koordpy("demo")


def test_in_a_pipe_it_ends_by_itself(told):
    assert (told.returncode, told.stderr) == (0, "")


def test_it_names_the_pod_that_can_never_run_and_why(told):
    text = " ".join(told.stdout.split())
    assert "huge-1 is unschedulable: “0/24 nodes are available: 24 Insufficient cpu, 24 Insufficient memory.”" in text
    assert "It asks for 64 cpu and 128Gi memory; no node has more than 16 cpu and 64Gi memory." in text


def test_it_shows_pods_that_waited_and_then_ran(told):
    text = " ".join(told.stdout.split())
    assert "28 found room at once" in text
    assert "Insufficient nvidia.com/gpu" in text
    assert text.count("All have finished.") == 2


def wait_for(process, word: str) -> None:
    for line in process.stdout:
        if word in line:
            return
    raise AssertionError(f"{word!r} was never printed: {process.stderr.read()}")


def test_an_interrupt_ends_it_and_its_scheduler():
    with started("demo") as demo:
        wait_for(demo, "holds its lease")
        scheduler = child_of(demo)
        assert ended_by(demo, signal.SIGINT) == (0, "")
    assert not exists(scheduler)


def test_a_scheduler_that_dies_is_reported_with_its_log():
    with started("demo") as demo:
        wait_for(demo, "holds its lease")
        os.kill(child_of(demo), signal.SIGKILL)
        _, errors = demo.communicate(timeout=60)
    assert demo.returncode == 1
    assert errors.startswith("koordpy: the scheduler (koordpy run) ended by signal 9; the end of its log:\n")
    assert "leading" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("pods", "folded"),
    [
        (["a-1", "a-2", "a-3"], "a-1…3"),
        (["a-1", "a-2"], "a-1,2"),
        (["a-10", "a-9", "b-1"], "a-9,10, b-1"),
        (["mine"], "mine"),
    ],
)
def test_numbered_names_are_folded(pods, folded):
    assert names(pods) == folded
