"""`koordpy queues`: the queues of a cluster as a tree, with what they have, want and are due."""

from __future__ import annotations

import sys

import click

from koordpy.cli.options import with_cluster_options


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
@with_cluster_options
def queues(*, config: str | None, output: str, kubeconfig: str | None, context: str | None) -> None:
    """Print the queues as a tree: quota, limit, fair share, allocated, asked for, and jobs that run and wait.

    ASKED FOR is what running and waiting pods request together. FAIR SHARE is what belongs to the queue of what nodes
    have now: its quota as far as it asks for it, and its part of what others leave. "-" is no limit, or not counted.
    Siblings are in the order of their turn. Everything is read once, and nothing is written.
    """
    from koordpy.app import logs  # noqa: PLC0415
    from koordpy.cli.running import run_until_signal  # noqa: PLC0415

    logs.configure("error", "console")
    sys.exit(run_until_signal(_print(_schedulers(config), output, kubeconfig, context)))


def _schedulers(config: str | None) -> list[str]:
    from koordpy.app.configfile import BadConfig, read_settings  # noqa: PLC0415
    from koordpy.app.settings import Settings  # noqa: PLC0415

    try:
        settings = read_settings(config)[0] if config else Settings()
    except BadConfig as error:
        click.echo(f"koordpy: {error}", err=True)
        sys.exit(1)
    return [profile.scheduler_name for profile in settings.profiles]


async def _print(schedulers: list[str], output: str, kubeconfig: str | None, context: str | None) -> None:
    from koordpy.cli.queuereading import moment_of  # noqa: PLC0415
    from koordpy.cli.queuetree import in_colour, in_json, in_text, in_yaml, lines_of, remarks_of  # noqa: PLC0415
    from koordpy.quota.answer import queue_list  # noqa: PLC0415

    moment, skipped = await moment_of(schedulers, kubeconfig, context)
    found = queue_list(moment)
    if output == "json":
        in_json(found)
    elif output == "yaml":
        in_yaml(found)
    else:
        remarks = [*remarks_of(found), *(f"left out: {error}" for error in skipped)]
        (in_colour if sys.stdout.isatty() else in_text)(lines_of(found), remarks)
