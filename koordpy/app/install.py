"""The manifests that install koordpy without Helm: the chart as it renders by default, with another namespace or image.

The chart is the source: `make manifests` renders it into `deploy/manifests/`, which a wheel has inside. Nothing is
applied here.
"""

from __future__ import annotations

import re
from pathlib import Path

from koordpy import __version__
from koordpy.app import crds

NAMESPACE = "koordpy-system"
IMAGE = f"koordpy:{__version__}"

_IN_A_WHEEL = Path(__file__).parent.parent / "deploy" / "install.yaml"
_IN_A_CHECKOUT = Path(__file__).parent.parent.parent / "deploy" / "manifests" / "install.yaml"


def manifests(*, namespace: str = NAMESPACE, image: str = IMAGE, with_definitions: bool = True) -> str:
    """Everything as YAML documents, in the order in which they can be created."""
    path = _IN_A_WHEEL if _IN_A_WHEEL.exists() else _IN_A_CHECKOUT
    rendered = path.read_text(encoding="utf-8")
    rendered = re.sub(rf"\b{NAMESPACE}\b", namespace, rendered).replace(f'"{IMAGE}"', f'"{image}"')
    home = f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {namespace}\n"
    definitions = crds.manifests() if with_definitions else []
    return "---\n".join([home, *definitions, rendered])
