"""`koordpy controllers`: what is kept true beside scheduling."""

from __future__ import annotations

import sys

import click

from koordpy.cli.options import begin, process_options


@click.command()
@process_options(port=10252)
def controllers(**flags: str | int | bool | None) -> None:
    """Keep the status of PodGroups, Queues and the network topology true, group workloads, and run QueueJobs.

    Give it the scheduler's --config, if that has one: it says whose pods count, and how leaders are elected. Runs until
    SIGTERM or Ctrl-C, then releases its lease (koordpy-controllers) and exits with 0.
    """
    from koordpy.app.controllers import run  # noqa: PLC0415
    from koordpy.cli.running import run_until_signal  # noqa: PLC0415

    settings = begin(flags)
    sys.exit(run_until_signal(run(settings, settings.serving)))
