"""`koordpy topology`: the network of a cluster as a tree, and how many pods of a size fit where."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from koordpy.cli.options import with_cluster_options
from koordpy.cli.quantities import positive

if TYPE_CHECKING:  # heavy, and --help must answer at once
    from koordpy.api.affinity import Toleration
    from koordpy.cli.slots import Asked

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


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


def _tolerations(_: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> tuple[Toleration, ...]:
    return tuple(_toleration(text, option) for text in texts)


def _toleration(text: str, option: click.Parameter) -> Toleration:
    """`dedicated=gpu:NoSchedule`, and less of it, which then tolerates more."""
    from koordpy.api.affinity import Toleration  # noqa: PLC0415

    if text == "*":
        return Toleration(operator="Exists")
    taint, colon, effect = text.partition(":")
    key, equals, value = taint.partition("=")
    if not key:
        raise click.BadParameter(f"{text!r} is not KEY, KEY=VALUE or either with :EFFECT", param=option)
    if colon and effect not in _EFFECTS:
        raise click.BadParameter(f"{text!r}: {effect!r} is none of {', '.join(_EFFECTS)}", param=option)
    return Toleration(key=key, operator="Equal" if equals else "Exists", value=value, effect=effect)


@click.command()
@click.option(
    "--request",
    metavar="RESOURCE=QUANTITY,...",
    callback=_request,
    required=True,
    help="What one pod asks for, such as cpu=8,nvidia.com/gpu=8.",
)
@click.option(
    "--toleration",
    "tolerations",
    metavar="KEY[=VALUE][:EFFECT]",
    multiple=True,
    callback=_tolerations,
    help="A taint that the pod tolerates, such as nvidia.com/gpu; '*' is every taint. May be given several times.",
)
@click.option(
    "--depth", metavar="LAYER", help="The last layer to print; NodeTopologyLayer prints the nodes. [default: above it]"
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="As a tree, or as a document.",
)
@with_cluster_options
def topology(
    *,
    request: dict[str, str],
    tolerations: tuple[Toleration, ...],
    depth: str | None,
    output: str,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Print the network of the cluster as a tree, with the slots of each domain for pods of a given request.

    FREE is how many more such pods fit, USED how many fewer that is than on empty nodes. The pods tolerate no taints
    but those of --toleration. Without a ClusterNetworkTopology it is the tree of zones, if nodes have them, or one
    line. Nodes and pods are read once, and nothing is written.
    """
    from koordpy.app import logs  # noqa: PLC0415
    from koordpy.cli.running import run_until_signal  # noqa: PLC0415
    from koordpy.cli.slots import Asked  # noqa: PLC0415

    logs.configure("error", "console")
    asked = Asked(request, tolerations)
    sys.exit(run_until_signal(_print(asked, depth, output, kubeconfig, context)))


async def _print(asked: Asked, depth: str | None, output: str, kubeconfig: str | None, context: str | None) -> None:
    from koordpy.cli.slots import survey_of  # noqa: PLC0415
    from koordpy.cli.slottree import document_of, in_colour, in_json, in_text, in_yaml, rows_of  # noqa: PLC0415

    survey = await survey_of(asked, kubeconfig, context)
    rows = rows_of(survey, depth)
    if output == "json":
        in_json(document_of(rows, asked, survey.remarks))
    elif output == "yaml":
        in_yaml(document_of(rows, asked, survey.remarks))
    elif sys.stdout.isatty():
        in_colour(rows, survey.remarks)
    else:
        in_text(rows, survey.remarks)
