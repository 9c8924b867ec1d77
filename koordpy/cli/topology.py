"""`koordpy topology`: the network of a cluster as a tree, and how many pods of a size fit where."""

from __future__ import annotations

import sys

import click

from koordpy.cli.quantities import positive


def _request(_: click.Context, option: click.Parameter, text: str) -> dict[str, str]:
    """`cpu=8,nvidia.com/gpu=8` by resource."""
    from koordpy.api.quantity import NANO, nano_units  # noqa: PLC0415

    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, quantity = (piece.strip() for piece in part.partition("="))
        if not name or not equals:
            raise click.BadParameter(f"{part!r} is not RESOURCE=QUANTITY, such as cpu=8", param=option)
        if name in found:
            raise click.BadParameter(f"{name} is there twice", param=option)
        found[name] = positive(quantity, option, of=name)
        if "/" in name and nano_units(quantity) % NANO:
            raise click.BadParameter(f"{name}: {quantity!r} is not a whole number, as devices are", param=option)
    return found


@click.command()
@click.option(
    "--request",
    metavar="RESOURCE=QUANTITY,...",
    callback=_request,
    required=True,
    help="What one pod asks for, such as cpu=8,nvidia.com/gpu=8.",
)
@click.option(
    "--depth", metavar="LAYER", help="The last layer to print; NodeTopologyLayer prints the nodes. [default: above it]"
)
@click.option("--kubeconfig", metavar="FILE", help="Kubeconfig; else $KUBECONFIG, else the service account of the pod.")
def topology(*, request: dict[str, str], depth: str | None, kubeconfig: str | None) -> None:
    """Print the network of the cluster as a tree, with the slots of each domain for pods of a given request.

    FREE is how many more such pods fit, USED how many fewer that is than on empty nodes. The pods tolerate no taints.
    Nodes and pods are read once, and nothing is written.
    """
    from koordpy.app import logs  # noqa: PLC0415
    from koordpy.cli.running import run_until_signal  # noqa: PLC0415

    logs.configure("error", "console")
    sys.exit(run_until_signal(_print(request, depth, kubeconfig)))


async def _print(request: dict[str, str], depth: str | None, kubeconfig: str | None) -> None:
    from koordpy.cli.slots import survey_of  # noqa: PLC0415
    from koordpy.cli.slottree import in_colour, in_text, rows_of  # noqa: PLC0415

    survey = await survey_of(request, kubeconfig)
    rows = rows_of(survey, depth)
    if sys.stdout.isatty():
        in_colour(rows, survey.remarks)
    else:
        in_text(rows, survey.remarks)
