"""Label selectors and field selectors, parsed from the query of a list or watch.

A selector is a plain predicate over an object's JSON. Which fields may be selected is decided here, per
kind, as on the real server: selecting on another one is a 400 and never silently everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from koordpy.sim.embedded.errors import bad_request

Obj = dict[str, Any]
Predicate = Callable[[Obj], bool]
Labels = dict[str, str]

_REQUIREMENT = re.compile(
    r"""\s*(?:
        (?P<absent>!)\s*(?P<absent_key>[^\s=!,()]+)
      | (?P<set_key>[^\s=!,()]+)\s+(?P<set_op>in|notin)\s*\((?P<values>[^()]*)\)
      | (?P<key>[^\s=!,()]+)\s*(?:(?P<op>==|=|!=)\s*(?P<value>[^\s=!,()]*))?
    )\s*(?:,|$)""",
    re.VERBOSE,
)

_FIELDS_BY_KIND: dict[str, tuple[str, ...]] = {
    "Pod": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "Node": ("spec.unschedulable",),
    "Namespace": ("status.phase",),
    "Secret": ("type",),
    "Job": ("status.successful",),
    "ReplicaSet": ("status.replicas",),
    "ReplicationController": ("status.replicas",),
    "Event": (
        *(f"involvedObject.{part}" for part in ("kind", "namespace", "name", "uid", "apiVersion")),
        *("involvedObject.resourceVersion", "involvedObject.fieldPath"),
        *("reason", "reportingComponent", "source", "type"),
    ),
}
# events.k8s.io names the same stored fields differently.
_FIELD_ALIASES = {"regarding": "involvedObject", "reportingController": "reportingComponent"}
_DEFAULTS = {"spec.unschedulable": "false", "spec.hostNetwork": "false"}


def labels_match(text: str) -> Callable[[Labels], bool]:
    """A predicate over labels: `app=web,tier in (a, b),!canary`."""
    tests = [_label_test(match) for match in _requirements(text)]
    return lambda labels: all(test(labels) for test in tests)


def label_selector(text: str) -> Predicate:
    match = labels_match(text)
    return lambda obj: match(obj["metadata"].get("labels") or {})


def field_selector(text: str, kind: str) -> Predicate:
    """`spec.nodeName=n1,status.phase!=Failed` for objects of one kind."""
    tests = [_field_test(part, kind) for part in text.split(",") if part.strip()]
    return lambda obj: all(test(obj) for test in tests)


def spec_selector(selector: Obj) -> Callable[[Labels], bool]:
    """A `LabelSelector` as objects carry it: matchLabels and matchExpressions."""
    tests = [_set_test(key, "in", {value}) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        key, operator = expression["key"], expression["operator"]
        if operator == "Exists":
            tests.append(_exists(key))
        elif operator == "DoesNotExist":
            tests.append(_absent(key))
        else:
            tests.append(_set_test(key, operator.lower(), set(expression.get("values") or ())))
    return lambda labels: all(test(labels) for test in tests)


def as_text(selector: Obj) -> str:
    """A `LabelSelector` in the form of a query: `app=web,tier in (a,b)`."""
    found = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        key, operator = expression["key"], expression["operator"]
        values = ",".join(sorted(expression.get("values") or ()))
        told = {"Exists": key, "DoesNotExist": f"!{key}"}.get(operator, f"{key} {operator.lower()} ({values})")
        found.append((key, told))
    return ",".join(text for _, text in sorted(found))


def _requirements(text: str) -> list[re.Match[str]]:
    found, position = [], 0
    while position < len(text):
        match = _REQUIREMENT.match(text, position)
        if match is None:
            raise bad_request(f"unable to parse requirement: {text[position:]!r} in label selector {text!r}")
        found.append(match)
        position = match.end()
    return found


def _label_test(match: re.Match[str]) -> Callable[[Labels], bool]:
    if match["absent"]:
        return _absent(match["absent_key"])
    if match["set_key"]:
        values = {value.strip() for value in match["values"].split(",")}
        return _set_test(match["set_key"], match["set_op"], values)
    if match["op"] is None:
        return _exists(match["key"])
    return _set_test(match["key"], "notin" if match["op"] == "!=" else "in", {match["value"]})


def _exists(key: str) -> Callable[[Labels], bool]:
    return lambda labels: key in labels


def _absent(key: str) -> Callable[[Labels], bool]:
    return lambda labels: key not in labels


def _set_test(key: str, operator: str, values: set[str]) -> Callable[[Labels], bool]:
    if operator == "in":
        return lambda labels: labels.get(key) in values
    return lambda labels: labels.get(key) not in values


def _field_test(part: str, kind: str) -> Predicate:
    match = re.fullmatch(r"\s*([^=!]+?)\s*(==|=|!=)\s*(.*?)\s*", part)
    if match is None:
        raise bad_request(f"invalid selector: {part!r}; can't understand it")
    path, operator, wanted = match.groups()
    head, _, rest = path.partition(".")
    path = ".".join(filter(None, (_FIELD_ALIASES.get(head, head), rest)))
    if path not in ("metadata.name", "metadata.namespace", *_FIELDS_BY_KIND.get(kind, ())):
        raise bad_request(f"field label not supported: {path}")
    steps, default = path.split("."), _DEFAULTS.get(path, "")
    if operator == "!=":
        return lambda obj: _field(obj, steps, default) != wanted
    return lambda obj: _field(obj, steps, default) == wanted


def _field(obj: Obj, steps: list[str], default: str) -> str:
    value: Any = obj
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    if value is None:
        return default
    if isinstance(value, dict):  # the field `source` of events stands for its component
        return str(value.get("component", default))
    return str(value).lower() if isinstance(value, bool) else str(value)
