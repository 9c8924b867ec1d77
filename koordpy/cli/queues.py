"""`koordpy queues`: the queues of a cluster as a tree, with what they have, want and are due."""

from __future__ import annotations

import sys
from collections.abc import Awaitable
from typing import TYPE_CHECKING

import click

from koordpy.cli.options import with_cluster_options

if TYPE_CHECKING:  # heavy, and --help must answer at once
    from koordpy.api.answers import QueueList

    Found = tuple[QueueList, list[str]]  # and remarks


@click.command()
@click.option("--config", metavar="FILE", help="The scheduler's KubeSchedulerConfiguration: it says whose pods count.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="As a tree, or as the document QueueList.",
)
@click.option(
    "--server",
    metavar="URL",
    default="",
    envvar="KOORDPY_SERVER",
    help="Ask this scheduler, such as http://localhost:10251, and do not read the cluster; else $KOORDPY_SERVER.",
)
@with_cluster_options
def queues(*, config: str | None, output: str, server: str, kubeconfig: str | None, context: str | None) -> None:
    """Print the queues as a tree: quota, limit, fair share, allocated, asked for, and jobs that run and wait.

    ASKED FOR is what running and waiting pods request together. FAIR SHARE is what belongs to the queue of what nodes
    have now: its quota as far as it asks for it, and its part of what others leave. "-" is no limit, or not counted.
    Siblings are in the order of their turn. Everything is read once, and nothing is written. With --server the
    scheduler is asked instead, which takes a right to `queues` of koordpy.io and none to pods and nodes.
    """
    from koordpy.app import logs  # noqa: PLC0415
    from koordpy.cli.running import run_until_signal  # noqa: PLC0415

    logs.configure("error", "console")
    reading = _asked(server, kubeconfig, context) if server else _read(_schedulers(config), kubeconfig, context)
    sys.exit(run_until_signal(_print(reading, output)))


def _schedulers(config: str | None) -> list[str]:
    from koordpy.app.configfile import BadConfig, read_settings  # noqa: PLC0415
    from koordpy.app.settings import Settings  # noqa: PLC0415

    try:
        settings = read_settings(config)[0] if config else Settings()
    except BadConfig as error:
        click.echo(f"koordpy: {error}", err=True)
        sys.exit(1)
    return [profile.scheduler_name for profile in settings.profiles]


async def _asked(server: str, kubeconfig: str | None, context: str | None) -> Found:
    """What the scheduler says, whose pods, quotas and shares it decides by."""
    import msgspec  # noqa: PLC0415

    from koordpy.api.answers import QueueList  # noqa: PLC0415
    from koordpy.cli.asking import scheduler  # noqa: PLC0415

    async with scheduler(server, "", kubeconfig, context) as ask:
        return msgspec.json.decode(await ask("/queues", None), type=QueueList), []


async def _read(schedulers: list[str], kubeconfig: str | None, context: str | None) -> Found:
    from koordpy.cli.queuereading import queues_of  # noqa: PLC0415

    found, skipped = await queues_of(schedulers, kubeconfig, context)
    return found, [f"left out: {error}" for error in skipped]


async def _print(reading: Awaitable[Found], output: str) -> None:
    from koordpy.cli.queuetree import in_colour, in_json, in_text, in_yaml, lines_of, remarks_of  # noqa: PLC0415

    found, left_out = await reading
    if output == "json":
        in_json(found)
    elif output == "yaml":
        in_yaml(found)
    else:
        (in_colour if sys.stdout.isatty() else in_text)(lines_of(found), [*remarks_of(found), *left_out])
