"""The command line. Commands are thin, and import what is heavy only when they run: `--help` answers at once."""

from __future__ import annotations

import click

from koordpy import __version__
from koordpy.cli.output import Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="koordpy")
def main() -> None:
    """Schedule Kubernetes jobs whose pods must start together.

    \b
    Try it:            koordpy demo
    On a cluster:      koordpy run
    A toy cluster:     koordpy embedded --nodes 20
    """  # noqa: D301 - click wants the backspace character itself


@main.command()
def version() -> None:
    """Print the version."""
    click.echo(f"koordpy {__version__}")


def _register() -> None:
    """After `main` exists; what is heavy is imported inside the commands."""
    from koordpy.cli.answers import explain, jobs, whatif  # noqa: PLC0415
    from koordpy.cli.config import config  # noqa: PLC0415
    from koordpy.cli.controllers import controllers  # noqa: PLC0415
    from koordpy.cli.crds import crds  # noqa: PLC0415
    from koordpy.cli.demo import demo  # noqa: PLC0415
    from koordpy.cli.embedded import embedded  # noqa: PLC0415
    from koordpy.cli.install import install  # noqa: PLC0415
    from koordpy.cli.queues import queues  # noqa: PLC0415
    from koordpy.cli.replay import replay  # noqa: PLC0415
    from koordpy.cli.run import run  # noqa: PLC0415
    from koordpy.cli.simulate import simulate  # noqa: PLC0415
    from koordpy.cli.topology import topology  # noqa: PLC0415

    of_a_cluster = (run, controllers, config, crds, install, topology, queues, jobs, explain, whatif)
    for command in (*of_a_cluster, demo, embedded, simulate, replay):
        main.add_command(command)


def kubectl_plugin() -> None:
    """`kubectl koord ...`: kubectl runs whatever is called kubectl-koord on the PATH."""
    main(prog_name="kubectl koord")


_register()
