"""`koordpy install`: what a cluster needs to run koordpy, for kubectl."""

from __future__ import annotations

import re

import click

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_REFERENCE = re.compile(r"[\w.:/@-]+")


def _namespace(_: click.Context, option: click.Parameter, name: str | None) -> str | None:
    if name is not None and not _LABEL.fullmatch(name):
        raise click.BadParameter(f"{name!r} is no name of a namespace: small letters, digits and '-'", param=option)
    return name


def _image(_: click.Context, option: click.Parameter, image: str | None) -> str | None:
    if image is not None and not _REFERENCE.fullmatch(image):
        raise click.BadParameter(f"{image!r} is no image", param=option)
    return image


@click.group()
def install() -> None:
    """Print what a cluster needs to run koordpy."""


@install.command()
@click.option("--namespace", metavar="NAME", callback=_namespace, help="Where it runs. [default: koordpy-system]")
@click.option("--image", metavar="IMAGE", callback=_image, help="Where its image is. [default: koordpy:VERSION]")
@click.option("--without-crds", is_flag=True, help="Leave out the CustomResourceDefinitions.")
def manifests(*, namespace: str | None, image: str | None, without_crds: bool) -> None:
    """Print the manifests that install koordpy, as YAML: what the Helm chart renders with its default values.

    \b
    Install:           koordpy install manifests --image IMAGE | kubectl apply -f -
    Remove:            koordpy install manifests --without-crds | kubectl delete -f -
    """  # noqa: D301 - click wants the backspace character itself
    from koordpy.app import install as source  # noqa: PLC0415

    chosen = {name: value for name, value in (("namespace", namespace), ("image", image)) if value}
    click.echo(source.manifests(**chosen, with_definitions=not without_crds), nl=False)
