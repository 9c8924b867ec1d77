"""Which ResourceQuota refused a pod, and which other pods it would refuse as well.

Pods are created in the order of their turn. When quota runs out for one of them, pods after it that use the same
resources must not take what is freed before it does; pods that use others go on.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

Json = dict[str, Any]

# `pods "a" is forbidden: exceeded quota: small, requested: pods=1, used: pods=4, limited: pods=4`
_EXCEEDED = re.compile(r"exceeded quota: (?P<quota>[^,]+), requested: (?P<requested>.*?), used: ")
_ANY = "*"


class Exceeded(NamedTuple):
    quota: str
    resources: frozenset[str]  # by their names in a ResourceQuota; `*` where the answer does not say


def exceeded_by(message: str) -> Exceeded | None:
    """What the API server's refusal says; None when it was not for a ResourceQuota."""
    if "exceeded quota" not in message:
        return None
    found = _EXCEEDED.search(message)
    if found is None:
        return Exceeded("", frozenset((_ANY,)))
    names = (pair.partition("=")[0].strip() for pair in found["requested"].split(","))
    return Exceeded(found["quota"], frozenset(name for name in names if name) or frozenset((_ANY,)))


def would_refuse(refused: frozenset[str], used: frozenset[str]) -> bool:
    return _ANY in refused or bool(refused & used)


def used_by(pod: Json) -> frozenset[str]:
    """The names under which a ResourceQuota counts this pod."""
    used = {"pods", "count/pods"}
    spec = pod.get("spec") or {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        used |= {f"limits.{name}" for name in limits}
        for name in {*limits, *requests}:  # a limit without a request is the request
            used |= {name, f"requests.{name}"}
    return frozenset(used)
