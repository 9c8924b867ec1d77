"""The definitions of other operators, as their Go modules have them: what the chart makes objects of, and workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from tests.controlplane.components import CERT_MANAGER, PROMETHEUS_OPERATOR, TRAINING_OPERATOR
from tests.controlplane.golang import module_directory

Json = dict[str, Any]

_FILES = {
    CERT_MANAGER: ("deploy/crds/crd-certificates.yaml",),
    PROMETHEUS_OPERATOR: (
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
}


def definitions() -> list[Json]:
    """The CustomResourceDefinitions that the chart needs, downloaded where the module is not in Go's cache yet."""
    return _read(_FILES)


def pytorchjob() -> list[Json]:
    """The CustomResourceDefinition of the training operator."""
    return _read({TRAINING_OPERATOR: ("manifests/base/crds/kubeflow.org_pytorchjobs.yaml",)})


def _read(files: Mapping[str, Sequence[str]]) -> list[Json]:
    paths = [module_directory(module) / name for module, names in files.items() for name in names]
    found = [yaml.safe_load(path.read_text()) for path in paths]
    # cert-manager's have templates in their labels.
    return [each | {"metadata": {"name": each["metadata"]["name"]}} for each in found]
