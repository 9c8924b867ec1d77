"""Cases in files: the cluster, the pod that came in and what kube-scheduler said, to ask koordpy alone later.

The world around the cluster is always the same and is not repeated in each file.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from tests.differential.answer import Answer
from tests.differential.stage import Asked
from tests.differential.world import world

Json = dict[str, Any]

# What no scheduler looks at, and what would make a short case a long one.
NOISE = frozenset(
    (
        *("managedFields", "nodeInfo", "daemonEndpoints", "capacity", "generation", "resourceVersion"),
        *("terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy", "dnsPolicy", "securityContext"),
        *("enableServiceLinks", "terminationGracePeriodSeconds"),
    )
)
SETS = ("feasible", "victims")


def recorded(asked: Asked) -> str:
    """YAML, with the features that the case needs, so that the table can switch it off."""
    features = asked.case.features | asked.case.scene.features
    answer = asdict(asked.answer)
    answer |= {name: sorted(answer[name]) for name in SETS}
    content = {
        "features": sorted(features),
        "kube-scheduler": answer,
        "incoming": _trimmed(asked.incoming),
        "cluster": [_trimmed(each) for each in asked.cluster],
    }
    return yaml.safe_dump(content, sort_keys=False, width=120, default_flow_style=None)


class Recording:
    """A case from a file."""

    def __init__(self, path: Path) -> None:
        content = yaml.safe_load(path.read_text())
        self.features = frozenset(content["features"])
        self.surroundings: list[Json] = [*(body for _, body in world()), *content["cluster"]]
        self.incoming: Json = content["incoming"]
        answer = content["kube-scheduler"]
        self.answer = Answer(**answer | {name: frozenset(answer.get(name, ())) for name in SETS})


def _trimmed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _trimmed(each) for key, each in value.items() if key not in NOISE}
    return [_trimmed(each) for each in value] if isinstance(value, list) else value
