"""`koordpy run --journal` and `koordpy replay` as processes of their own: what a user sends us can be run."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from koordpy.app.journal.files import files_in
from koordpy.sim.embedded.server import EmbeddedServer
from tests.app.scheduler import SchedulerProcess
from tests.builders import node_json, pod_json

pytestmark = pytest.mark.process

NODES, PODS = 4, 24
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: ours}]
"""


@asynccontextmanager
async def scheduling(directory: Path, *flags: str | Path, scheduler: str) -> AsyncIterator[SchedulerProcess]:
    """Until all pods are bound that fit, and those that do not have been refused."""
    async with EmbeddedServer([node_json(f"n{i}", cpu=4) for i in range(NODES)], kubelets=False) as server:
        (directory / "kubeconfig").write_text(server.kubeconfig())
        arguments = ("--kubeconfig", directory / "kubeconfig", "--journal", directory / "journal", *flags)
        async with SchedulerProcess(directory, *arguments) as process:
            for i in range(PODS):
                pod = pod_json(f"p{i}", scheduler=scheduler, cpu=1)
                await server.create("/api/v1/namespaces/default/pods", pod)
            await process.until(lambda: sum(bool(_node(server, f"p{i}")) for i in range(PODS)) == NODES * 4)
            await asyncio.sleep(1.5)  # for what is left to be flushed
            yield process


def _node(server: EmbeddedServer, name: str) -> str:
    stored = server.store.get("pods", "default", name)
    return stored.obj["spec"].get("nodeName", "") if stored else ""


async def replayed(directory: Path) -> tuple[int | None, str]:
    command = [sys.executable, "-m", "koordpy", "replay", str(directory / "journal")]
    process = await asyncio.create_subprocess_exec(*command, stdout=-1, stderr=-2)
    said, _ = await process.communicate()
    return process.returncode, said.decode()


async def test_what_a_killed_scheduler_has_left_is_decided_the_same_again(tmp_path: Path):
    async with scheduling(tmp_path, scheduler="koord-scheduler") as process:
        process.signal(signal.SIGKILL)
        await process.ended()
    code, said = await replayed(tmp_path)
    assert (code, "all as recorded" in said) == (0, True), said
    assert " 0 jobs started" not in said


async def test_a_journal_brings_its_configuration_along(tmp_path: Path):
    (tmp_path / "config.yaml").write_text(CONFIG)
    async with scheduling(tmp_path, "--config", tmp_path / "config.yaml", scheduler="ours") as process:
        process.signal(signal.SIGTERM)
        assert await process.ended() == 0
        assert "Traceback" not in process.text()
    (tmp_path / "config.yaml").unlink()
    code, said = await replayed(tmp_path)
    assert (code, "all as recorded" in said) == (0, True), said


async def test_a_difference_is_told_and_exits_with_1(tmp_path: Path):
    async with scheduling(tmp_path, scheduler="koord-scheduler"):
        pass
    (file,) = files_in(tmp_path / "journal")
    file.write_bytes(file.read_bytes().replace(b'["decided","start"', b'["decided","begin"'))
    code, said = await replayed(tmp_path)
    assert code == 1
    assert "; differs:\n  journal-00000001.jsonl, line " in said


async def test_a_directory_without_a_journal_is_one_line_and_exits_with_2(tmp_path: Path):
    (tmp_path / "journal").mkdir()
    assert await replayed(tmp_path) == (2, f"koordpy: {tmp_path}/journal: no file of a journal in it\n")


async def test_a_directory_that_cannot_be_used_is_one_line_and_exit_code_1(tmp_path: Path):
    async with EmbeddedServer() as server:
        (tmp_path / "kubeconfig").write_text(server.kubeconfig())
        (tmp_path / "taken").write_text("")
        flags = ("--kubeconfig", tmp_path / "kubeconfig", "--journal", tmp_path / "taken")
        async with SchedulerProcess(tmp_path, *flags) as process:
            assert await process.ended() == 1
            assert f"koordpy: --journal: {tmp_path}/taken: File exists" in process.text()
            assert "Traceback" not in process.text()
