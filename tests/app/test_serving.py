"""Health and metrics of a running scheduler, and what it costs when there is nothing to do."""

from __future__ import annotations

import asyncio
import re

import pytest

from koordpy.sim.embedded.faults import Fault, Rule
from koordpy.sim.embedded.server import EmbeddedServer
from tests.app.cluster import add_nodes, add_pods, bound
from tests.app.scheduler import SchedulerProcess
from tests.builders import node_json, pod_json
from tests.controlplane.certificates import Authority
from tests.controlplane.fixtures import Real

pytestmark = pytest.mark.process


@pytest.mark.real
async def test_it_answers_for_its_health_and_costs_next_to_nothing_when_idle(real: Real, tmp_path) -> None:
    await add_nodes(real.client, 5)
    await add_pods(real.client, 10, "100m")
    await add_pods(real.client, 1, "5", name="big")
    async with SchedulerProcess(tmp_path, "--kubeconfig", real.kubeconfig(tmp_path)) as scheduler:
        await scheduler.ready()
        await scheduler.until(lambda: _bound(real, 10))
        assert await scheduler.get("/healthz") == (200, "ok")
        assert await scheduler.get("/livez") == (200, "ok")
        assert await scheduler.get("/readyz") == (200, "ok")
        status, text = await scheduler.get("/readyz?verbose")
        assert status == 200
        assert {"[+]watch-pods ok", "[+]watch-nodes ok", "readyz check passed"} <= set(text.splitlines())
        assert (await scheduler.get("/elsewhere"))[0] == 404
        await _counts(scheduler)
        await _is_idle(scheduler)


async def _bound(real: Real, count: int) -> bool:
    return len(await bound(real.client)) == count


async def _counts(scheduler: SchedulerProcess) -> None:
    profile = 'profile="koord-scheduler"'
    assert await scheduler.metric(f'scheduler_schedule_attempts_total{{{profile},result="scheduled"}}') == 10
    assert await scheduler.metric('scheduler_pending_pods{queue="unschedulable"}') == 1
    assert await scheduler.metric('scheduler_cache_size{type="nodes"}') == 5
    assert await scheduler.metric("koordpy_leader") == 1
    assert await scheduler.metric('koordpy_api_writes_total{kind="bind",result="bound"}') == 10


async def _is_idle(scheduler: SchedulerProcess) -> None:
    await asyncio.sleep(1)
    before = await scheduler.metric("process_cpu_seconds_total")
    await asyncio.sleep(5)
    used = await scheduler.metric("process_cpu_seconds_total") - before
    assert used < 0.25, f"{used:.2f} s of CPU in 5 s of idleness"


@pytest.mark.real
async def test_it_serves_over_tls(real: Real, tmp_path) -> None:
    pair = Authority(tmp_path).serving()
    tls = ("--tls-cert-file", str(pair.certificate), "--tls-private-key-file", str(pair.key))
    async with SchedulerProcess(tmp_path, "--kubeconfig", str(real.kubeconfig(tmp_path)), *tls) as scheduler:
        await scheduler.ready()
        assert (await scheduler.get("/metrics"))[0] == 200


async def test_a_certificate_that_cannot_be_read_is_one_line_and_exit_code_1(tmp_path) -> None:
    async with EmbeddedServer() as server:
        (tmp_path / "kubeconfig").write_text(server.kubeconfig())
        (tmp_path / "bad.crt").write_text("no certificate")
        tls = ("--tls-cert-file", str(tmp_path / "bad.crt"))
        async with SchedulerProcess(tmp_path, "--kubeconfig", str(tmp_path / "kubeconfig"), *tls) as scheduler:
            assert await scheduler.ended() == 1
            assert f"koordpy: --tls-cert-file {tmp_path}/bad.crt: " in scheduler.text()
            assert "Traceback" not in scheduler.text()


async def test_a_port_that_is_taken_is_one_line_and_exit_code_1(tmp_path) -> None:
    async with EmbeddedServer() as server:
        (tmp_path / "kubeconfig").write_text(server.kubeconfig())
        scheduler = SchedulerProcess(tmp_path, "--kubeconfig", str(tmp_path / "kubeconfig"))
        taken = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", scheduler.port)
        async with taken, scheduler:
            assert await scheduler.ended() == 1
            assert f"koordpy: cannot serve on 127.0.0.1:{scheduler.port}: " in scheduler.text()
            assert "Traceback" not in scheduler.text()


async def test_a_server_that_is_busy_at_the_start_is_waited_for(tmp_path) -> None:
    async with EmbeddedServer([node_json("n1")], kubelets=False) as server:
        (tmp_path / "kubeconfig").write_text(server.kubeconfig())
        server.faults.add(Rule(Fault.STATUS, status=503, count=5))
        server.faults.add(Rule(Fault.STATUS, status=429, retry_after=1, count=5))
        outage = server.faults.add(Rule(Fault.STATUS, path="/api/v1/pods", status=500, count=None))
        pod = await server.create("/api/v1/namespaces/default/pods", pod_json("a"))
        async with SchedulerProcess(tmp_path, "--kubeconfig", tmp_path / "kubeconfig") as scheduler:
            await scheduler.until(lambda: _says(scheduler, r"\[-\]watch-pods failed: Unavailable: .*500"))
            assert len(scheduler.lines("api_server_busy")) == 1
            outage.count = 0
            await scheduler.ready()
            await scheduler.until(lambda: bool(_node(server, pod["metadata"]["name"])))


async def _says(scheduler: SchedulerProcess, pattern: str) -> bool:
    status, text = await scheduler.get("/readyz")
    return status == 503 and re.search(pattern, text) is not None


def _node(server: EmbeddedServer, name: str) -> str:
    stored = server.store.get("pods", "default", name)
    assert stored is not None
    return stored.obj["spec"].get("nodeName", "")
