"""As much of PromQL as it takes to find the metrics in an expression, with the labels that are asked of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from prometheus_client import Counter, Gauge, Histogram

from koordpy import metrics

_METRIC = re.compile(r"\b(?P<name>(?:koordpy|scheduler|process)_[a-z0-9_]+)\s*(?:\{(?P<labels>[^}]*)\})?")
_MATCHER = re.compile(r'(?P<label>[a-z_]+)\s*(?P<how>=~|!~|!=|=)\s*"(?P<value>[^"]*)"')
_BY = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
OF_THE_TARGET = {"job", "instance"}  # which Prometheus adds
OF_THE_PROCESS = {"process_cpu_seconds_total", "process_resident_memory_bytes"}  # by the client library, on Linux


class Selector(NamedTuple):
    """A metric, and what is asked of its labels: label, operator and value."""

    name: str
    matchers: tuple[tuple[str, str, str], ...]


def selectors_in(expression: str) -> Iterator[Selector]:
    for found in _METRIC.finditer(expression):
        yield Selector(found["name"], tuple(_MATCHER.findall(found["labels"] or "")))


def labels_grouped_by(expression: str) -> set[str]:
    return {label.strip() for found in _BY.findall(expression) for label in found.split(",") if label.strip()}


def exported() -> dict[str, set[str]]:
    """Every series that koordpy exports, by name, with its labels."""
    found: dict[str, set[str]] = {name: set() for name in OF_THE_PROCESS}
    for metric in vars(metrics).values():
        if not isinstance(metric, (Counter, Gauge, Histogram)):
            continue
        (family,) = metric.describe()
        labels = set(metric._labelnames)
        if isinstance(metric, Counter):
            found[f"{family.name}_total"] = labels
        elif isinstance(metric, Gauge):
            found[family.name] = labels
        else:
            found |= {f"{family.name}{end}": labels for end in ("_sum", "_count")}
            found[f"{family.name}_bucket"] = labels | {"le"}
    return found


def problems_of(expression: str) -> list[str]:
    """What in it does not exist."""
    known, found = exported(), []
    grouped = labels_grouped_by(expression)
    available: set[str] = set(OF_THE_TARGET)
    for selector in selectors_in(expression):
        if selector.name not in known:
            found.append(f"there is no {selector.name}")
            continue
        available |= known[selector.name]
        asked = {label for label, _, _ in selector.matchers}
        found += [f"{selector.name} has no label {label}" for label in asked - known[selector.name] - OF_THE_TARGET]
    return found + [f"nothing has a label {label}" for label in grouped - available]
