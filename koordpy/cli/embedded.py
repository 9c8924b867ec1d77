"""`koordpy embedded`: the in-memory Kubernetes API on its own, to play with."""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from koordpy.cli.quantities import positive

if TYPE_CHECKING:  # heavy, and --help must answer at once
    from koordpy.sim.embedded.server import EmbeddedServer


def _quantity(_: click.Context, option: click.Parameter, text: str) -> str:
    return positive(text, option)


@click.command()
@click.option("--nodes", type=click.IntRange(0, 10_000), default=20, show_default=True, help="How many nodes.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1. [default: a free one]")
@click.option("--cpu", metavar="QUANTITY", callback=_quantity, default="8", show_default=True, help="Of each node.")
@click.option(
    "--memory", metavar="QUANTITY", callback=_quantity, default="32Gi", show_default=True, help="Of each node."
)
@click.option("--gpu", type=click.IntRange(0, 1024), default=0, show_default=True, help="GPUs of each node.")
@click.option(
    "--termination-seconds",
    type=click.FloatRange(0, 3600),
    default=3.0,
    show_default=True,
    help="How long a deleted pod takes to end; never longer than its terminationGracePeriodSeconds.",
)
@click.option(
    "--kubeconfig-out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the kubeconfig. [default: a temporary file]",
)
def embedded(
    *,
    nodes: int,
    port: int,
    cpu: str,
    memory: str,
    gpu: int,
    termination_seconds: float,
    kubeconfig_out: Path | None,
) -> None:
    """Serve a small Kubernetes API from memory, with simulated nodes.

    Jobs, Deployments, ReplicaSets and StatefulSets make pods, and so do PyTorchJobs, MPIJobs and RayClusters, as their
    operators would. Bound pods start, run and end as on real nodes, but no container runs. Nothing schedules: start
    `koordpy run` beside it. Everything is gone when it ends, with Ctrl-C.
    """
    from koordpy.cli.running import run_until_signal  # noqa: PLC0415
    from koordpy.sim.embedded.backend import timestamp  # noqa: PLC0415
    from koordpy.sim.embedded.kubelet import Timing  # noqa: PLC0415
    from koordpy.sim.embedded.nodes import simulated_node  # noqa: PLC0415
    from koordpy.sim.embedded.server import EmbeddedServer  # noqa: PLC0415

    gpus = {"nvidia.com/gpu": str(gpu)} if gpu else None
    now = timestamp(time.time())
    width = max(2, len(str(nodes)))
    wanted: list[dict[str, Any]] = [
        simulated_node(f"node-{number:0{width}}", cpu=cpu, memory=memory, extended=gpus, now=now)
        for number in range(1, nodes + 1)
    ]
    server = EmbeddedServer(wanted, port=port, timing=Timing(termination=termination_seconds))
    sys.exit(run_until_signal(_serve(server, nodes, port, kubeconfig_out)))


async def _serve(server: EmbeddedServer, nodes: int, port: int, kubeconfig: Path | None) -> None:
    import asyncio  # noqa: PLC0415

    from koordpy.server.errors import CannotServe  # noqa: PLC0415
    from koordpy.sim.embedded.workloads.operators.definitions import PATH, definitions  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="koordpy-") as directory:
        path = (kubeconfig or Path(directory) / "kubeconfig").absolute()
        async with AsyncExitStack() as served:
            try:
                await served.enter_async_context(server)
                for definition in definitions():
                    await server.create(PATH, definition)
                path.write_text(server.kubeconfig(), encoding="utf-8")
            except OSError as error:
                what = f"--kubeconfig-out {path}" if error.filename else f"--port {port}"
                raise CannotServe(f"{what}: {error.strerror or error}") from error
            click.echo(_welcome(server.url, nodes, path))
            await asyncio.Event().wait()


def _welcome(url: str, nodes: int, kubeconfig: Path) -> str:
    from koordpy.sim.shell import path_line  # noqa: PLC0415

    return f"""\
A Kubernetes API in memory, on {url}, with {nodes} simulated node{"" if nodes == 1 else "s"}. In another terminal:

{path_line()}  export KUBECONFIG={kubeconfig}
  kubectl get nodes
  koordpy crds | kubectl apply -f -
  koordpy run --with-controllers &
  kubectl run mine --image=any --overrides='{{"spec":{{"schedulerName":"koord-scheduler"}}}}'
  kubectl get pods -o wide --watch

Everything is gone when this ends (Ctrl-C)."""
