"""`koordpy crds`: the definitions of the custom resources, for kubectl."""

from __future__ import annotations

import click


@click.command()
def crds() -> None:
    """Print the CustomResourceDefinitions that koordpy knows, as YAML.

    \b
    Install them:      koordpy crds | kubectl apply -f -
    """  # noqa: D301 - click wants the backspace character itself
    from koordpy.app.crds import manifests  # noqa: PLC0415

    click.echo("---\n".join(manifests()), nl=False)
