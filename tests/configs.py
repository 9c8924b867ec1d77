"""Configuration files for tests, in few words."""

from pathlib import Path
from typing import Any

import yaml

from koordpy.app.configfile import read_settings
from koordpy.app.settings import Settings
from tests.plan.constraints import ZONE

Json = dict[str, Any]

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def reading(folder: Path, text: str = "", **fields: Any) -> tuple[Settings, list[str]]:
    """Read a file of these fields, or of this text."""
    path = folder / "config.yaml"
    path.write_text(text or yaml.safe_dump(HEAD | fields))
    return read_settings(str(path))


def enabled(*names: str, **weights: int) -> Json:
    weighted = [{"name": name, "weight": weight} for name, weight in weights.items()]
    return {"enabled": [*({"name": name} for name in names), *weighted]}


def disabled(*names: str) -> Json:
    return {"disabled": [{"name": name} for name in names]}


def zone_constraint(**more: Any) -> Json:
    return {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"} | more
