"""The definitions of other operators that koordpy's chart makes objects of, as their Go modules have them."""

from __future__ import annotations

from typing import Any

import yaml

from tests.controlplane.components import CERT_MANAGER, PROMETHEUS_OPERATOR
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
    """The CustomResourceDefinitions, downloaded where the module is not in Go's cache yet."""
    paths = [module_directory(module) / name for module, names in _FILES.items() for name in names]
    found = [yaml.safe_load(path.read_text()) for path in paths]
    # cert-manager's have templates in their labels.
    return [each | {"metadata": {"name": each["metadata"]["name"]}} for each in found]
