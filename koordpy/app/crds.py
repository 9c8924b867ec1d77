"""The CustomResourceDefinitions that koordpy brings along: `crds/` of a checkout, `koordpy/manifests/` of a wheel.

They are read from there and nowhere written: what is installed is up to the user, or to whoever owns the cluster.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_IN_A_WHEEL = Path(__file__).parent.parent / "manifests"
_IN_A_CHECKOUT = Path(__file__).parent.parent.parent / "crds"


def definitions() -> list[dict[str, Any]]:
    """Every definition, as the API server takes it."""
    return [yaml.safe_load(text) for text in manifests()]


def manifests() -> list[str]:
    """Every definition as it was written, comments included; by file name."""
    directory = _IN_A_WHEEL if _IN_A_WHEEL.is_dir() else _IN_A_CHECKOUT
    return [path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.yaml"))]
