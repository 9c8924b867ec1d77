"""Section 2 of the contract, read naively from JSON: which gangs there are, their minimum, who starts with whom.

Written apart from koordpy's own reading, for the observer: two mistakes would have to be the same to go unseen.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.scenarios.objects import KOORDINATOR, OURS, SIGS, X_K8S

Json = dict[str, Any]


@dataclass(frozen=True)
class Gang:
    """A gang as the API server's objects describe it; `members` are pods of ours that are not terminating."""

    name: str  # namespace/name
    members: tuple[Json, ...]
    minimum: int | None
    partners: tuple[str, ...]


def gang_of(pod: Json) -> str | None:
    """The id of the pod's gang."""
    meta = pod["metadata"]
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    name = (
        labels.get(SIGS)
        or labels.get(X_K8S)
        or labels.get(f"{SIGS}/name")
        or annotations.get(f"{SIGS}/name")
        or annotations.get(SIGS)
        or annotations.get(f"{KOORDINATOR}/name")
    )
    return f"{meta['namespace']}/{name}" if name else None


def read_gangs(pods: list[Json], pod_groups: list[Json]) -> dict[str, Gang]:
    members: dict[str, list[Json]] = {}
    for pod in sorted(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"])):
        name = gang_of(pod)
        if name and pod["spec"].get("schedulerName") == OURS and "deletionTimestamp" not in pod["metadata"]:
            members.setdefault(name, []).append(pod)
    groups = {f"{g['metadata']['namespace']}/{g['metadata']['name']}": g for g in pod_groups}
    return {name: _gang(name, members.get(name, []), groups.get(name)) for name in {*members, *groups}}


def job_of(name: str, gangs: dict[str, Gang]) -> set[str]:
    """Every gang that must be able to start for this one to start."""
    found, left = {name}, [name]
    while left:
        gang = gangs.get(left.pop())
        fresh = set(gang.partners) - found if gang else set()
        found |= fresh
        left += fresh
    return found


def _gang(name: str, members: list[Json], group: Json | None) -> Gang:
    sources = [*members, *([group] if group else [])]
    minimum = next((m for m in map(_minimum, sources) if m is not None), None)
    if minimum is None and group is not None:
        minimum = group["spec"].get("minMember")
    partners = next((g for g in map(_partners, sources) if g is not None), ())
    return Gang(name, tuple(members), minimum, partners)


def _minimum(obj: Json) -> int | None:
    labels, annotations = obj["metadata"].get("labels") or {}, obj["metadata"].get("annotations") or {}
    key = f"{SIGS}/min-available"
    for text in (annotations.get(f"{KOORDINATOR}/min-available"), labels.get(key), annotations.get(key)):
        if text is not None and text.isdigit():
            return int(text)
    return None


def _partners(obj: Json) -> tuple[str, ...] | None:
    annotations = obj["metadata"].get("annotations") or {}
    for key in ("groups", "gang-groups"):
        text = annotations.get(f"{KOORDINATOR}/{key}")
        if text == "":
            return ()
        try:
            names = json.loads(text) if text else None
        except ValueError:
            continue
        if isinstance(names, list) and all(isinstance(name, str) and name.count("/") == 1 for name in names):
            return tuple(names)
    return None
