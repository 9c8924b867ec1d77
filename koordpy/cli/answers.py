"""`koordpy jobs`, `koordpy explain` and `koordpy whatif`: what the scheduler answers, as tables or as it came."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import click

from koordpy.cli.options import with_cluster_options

Command = TypeVar("Command", bound=Callable[..., Any])

_EVERY_S = 2.0


def _with_answer_options(command: Command) -> Command:
    options = (
        click.option(
            "-o",
            "--output",
            type=click.Choice(["table", "json", "yaml"]),
            default="table",
            show_default=True,
            help="As a table, or as the scheduler answers.",
        ),
        click.option(
            "--server",
            metavar="URL",
            default="",
            envvar="KOORDPY_SERVER",
            help="The scheduler itself, such as http://localhost:10251; else $KOORDPY_SERVER.",
        ),
        click.option(
            "--service",
            metavar="NAMESPACE/NAME",
            default="",
            help="The scheduler's service. [default: found by its labels]",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return with_cluster_options(command)


@click.command()
@_with_answer_options
@click.option("-w", "--watch", is_flag=True, help="Print the list again whenever it has changed.")
def jobs(*, watch: bool, output: str, **where: str) -> None:
    """List everything that is pending, in the order of its turn."""
    _run(_ask("/jobs", None, output, watch=watch, **where))


@click.command()
@click.argument("job", metavar="NAMESPACE/NAME")
@_with_answer_options
def explain(*, job: str, output: str, **where: Any) -> None:
    """Say why a job waits, who is in its way, and which single changes would start it now.

    NAMESPACE/NAME is a workload, a gang's object or a pod. Every change was planned by the scheduler, with success.
    """
    namespace, slash, name = job.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise click.BadParameter(f"{job!r} is not NAMESPACE/NAME", param_hint="NAMESPACE/NAME")
    _run(_ask(f"/jobs/{quote(namespace)}/{quote(name)}", None, output, **where))


@click.command()
@click.option("-f", "--filename", metavar="FILE", help="Objects as YAML or JSON; - is standard input.")
@click.option("--add-nodes", metavar="N", type=click.IntRange(1), help="With so many more nodes, like --like.")
@click.option("--like", metavar="NODE", help="The node that added ones are like.")
@click.option("--without-node", metavar="NODE", multiple=True, help="Without this node and what runs there.")
@click.option("--without-job", metavar="NAMESPACE/NAME", multiple=True, help="Without this job.")
@_with_answer_options
def whatif(
    *,
    filename: str | None,
    add_nodes: int | None,
    like: str | None,
    without_node: tuple[str, ...],
    without_job: tuple[str, ...],
    output: str,
    **where: Any,
) -> None:
    """Say what would become of objects that do not exist: where they would start, whom they would evict, or why not.

    Pods, gangs' objects and workloads of every kind that koordpy knows. Without a file: of the jobs that are pending.
    Nothing is created.
    """
    if (add_nodes is None) != (like is None):
        raise click.UsageError("--add-nodes and --like go together")
    query = [("addNodes", str(add_nodes)), ("like", str(like))] if add_nodes is not None else []
    query += [("withoutNode", node) for node in without_node] + [("withoutJob", job) for job in without_job]
    _run(_ask("/whatif" + (f"?{urlencode(query)}" if query else ""), _body(filename), output, **where))


def _body(filename: str | None) -> bytes:
    if filename is None:
        return b""
    try:
        body = sys.stdin.buffer.read() if filename == "-" else Path(filename).read_bytes()
    except OSError as error:
        raise click.BadParameter(f"{filename}: {error.strerror}", param_hint="--filename") from None
    if not body.strip():  # without a body the question would be another one
        raise click.BadParameter(f"{filename} has no objects", param_hint="--filename")
    return body


def _run(asking: Any) -> None:
    from koordpy.app import logs  # noqa: PLC0415
    from koordpy.cli.running import run_until_signal  # noqa: PLC0415

    logs.configure("error", "console")
    sys.exit(run_until_signal(asking))


async def _ask(path: str, body: bytes | None, output: str, *, watch: bool = False, **where: Any) -> None:
    from koordpy.cli.answertables import show  # noqa: PLC0415
    from koordpy.cli.asking import scheduler  # noqa: PLC0415

    async with scheduler(**where) as ask:
        before: Any = None
        while True:
            answer = await ask(path, body)
            before = show(answer, output, before)
            if not watch:
                return
            await asyncio.sleep(_EVERY_S)
