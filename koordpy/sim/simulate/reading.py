"""Sections 2 and 12 of the contract, read naively from JSON: which gangs there are, their minimum, and groups.

Written apart from koordpy's own reading, keys included, for those who judge it from outside: two mistakes would have to
be the same to go unseen.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

Json = dict[str, Any]

OURS = "koord-scheduler"
KOORDINATOR = "gang.scheduling.koordinator.sh"
SIGS = "pod-group.scheduling.sigs.k8s.io"
X_K8S = "scheduling.x-k8s.io/pod-group"

SUBGROUP = "kai.scheduler/subgroup-name"
RUN_TIME = "koordpy.io/run-time"
RESERVED_START = "koordpy.io/reserved-start"
BACKFILLED_UNTIL = "koordpy.io/backfilled-until"


class Objects(NamedTuple):
    """The objects of gangs, by front-end."""

    coscheduling: list[Json]
    kai: list[Json]
    native: list[Json]
    specs: list[Json]


@dataclass(frozen=True)
class Gang:
    """A gang as the API server's objects describe it; `members` are pods of ours that are not terminating."""

    name: str  # namespace/name, and the mark of its front-end
    members: tuple[Json, ...]
    minimum: int | None
    partners: tuple[str, ...]
    spec: Json  # of its object
    object: Json | None = None

    @property
    def object_metadata(self) -> Json:
        return self.object["metadata"] if self.object else {}

    @property
    def status(self) -> Json | None:
        """Of its object."""
        return self.object.get("status") if self.object else None

    @property
    def is_declared(self) -> bool:
        """There is an object, or its members need none."""
        return self.object is not None or ("@" not in self.name and not any(map(_asks_for_object, self.members)))

    def has_parts(self, there: list[Json]) -> bool:
        """Whether these members are enough of each subgroup that has to start."""
        listed = self.spec.get("subGroups") or []
        return not listed or _is_complete("", self.spec, listed, there)


def _asks_for_object(pod: Json) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return bool(labels.get(SIGS) or labels.get(X_K8S))


def _is_complete(name: str, said: Json, listed: list[Json], there: list[Json]) -> bool:
    children = [each for each in listed if (each.get("parent") or "") == name]
    if name and not children:
        members = sum((pod["metadata"].get("labels") or {}).get(SUBGROUP) == name for pod in there)
        return bool(members >= said.get("minMember", 1))
    complete = sum(_is_complete(each["name"], each, listed, there) for each in children)
    return bool(complete >= said.get("minSubGroup", len(children)))


def claimed_by(pod: Json, objects: Objects) -> str | None:
    """The id of the gang that has the pod: of section 2, Kubernetes' own, KAI's, and that of its owner's spec."""
    meta = pod["metadata"]
    first = gang_of(pod)
    native = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    if first or native:
        return first or f"{meta['namespace']}/{native}@native"
    by_owner = _by_owner(meta)
    if by_owner not in {_by_owner(spec["metadata"]) for spec in objects.specs}:
        by_owner = None
    name = (meta.get("annotations") or {}).get("pod-group-name")
    by_name = f"{meta['namespace']}/{name}@kai" if name else None
    return by_owner or by_name if not name or by_name in _made_by_grouper(objects) else by_name


def _by_owner(meta: Json) -> str | None:
    owner = next((each for each in meta.get("ownerReferences") or () if each.get("controller")), None)
    return f"{meta['namespace']}/{owner['name']}@{owner['uid']}" if owner else None


def _made_by_grouper(objects: Objects) -> set[str]:
    made = [each["metadata"] for each in objects.kai]
    key = "app.kubernetes.io/managed-by"
    return {_name(meta, "@kai") for meta in made if (meta.get("labels") or {}).get(key) == "koordpy-podgrouper"}


def _name(meta: Json, mark: str = "") -> str:
    return f"{meta['namespace']}/{meta['name']}{mark}"


def gang_of(pod: Json) -> str | None:
    """The id of the pod's gang by section 2."""
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


def read_gangs(pods: list[Json], objects: Objects) -> dict[str, Gang]:
    members: dict[str, list[Json]] = {}
    for pod in sorted(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"])):
        name = claimed_by(pod, objects)
        if name and pod["spec"].get("schedulerName") == OURS and "deletionTimestamp" not in pod["metadata"]:
            members.setdefault(name, []).append(pod)
    found = {_name(each["metadata"]): each for each in objects.coscheduling}
    found |= {_name(each["metadata"], "@kai"): each for each in objects.kai}
    found |= {_name(each["metadata"], "@native"): each for each in objects.native}
    found |= {owner: each for each in objects.specs if (owner := _by_owner(each["metadata"]))}
    return {name: _gang(name, members.get(name, []), found.get(name)) for name in {*members, *found}}


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
    spec = (group or {}).get("spec") or {}
    minimum = next((m for m in map(_minimum, sources) if m is not None), None)
    if minimum is None and group is not None:
        minimum = _minimum_in(spec, name.partition("@")[2])
    partners = next((g for g in map(_partners, sources) if g is not None), ())
    mark = "".join(name.partition("@")[1:])
    return Gang(name, tuple(members), minimum, tuple(f"{each}{mark}" for each in partners), spec, group)


def _minimum_in(spec: Json, mark: str) -> Any:
    if mark == "native":
        return spec["schedulingPolicy"].get("gang", {"minCount": 0})["minCount"]
    if mark == "kai":
        has_parts = "subGroups" in spec or "minSubGroup" in spec
        return spec.get("minMember", 0 if has_parts else 1)
    return spec.get("minAvailable", 0) if mark else spec.get("minMember")


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
