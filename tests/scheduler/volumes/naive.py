"""The naive reference for volumes: one node at a time, on API JSON, from kube-scheduler's rules; nothing of koordpy.

Where kube-scheduler's answer depends on the order of a Go map, the smallest volume counts, then the first by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.plan.naive.matching import amount, labels_of, node_term_matches, selects

Json = dict[str, Any]
Choice = dict[str, str]  # by claim name: a volume, or "" for one to be made

SELECTED_NODE = "volume.kubernetes.io/selected-node"
CLASS = "volume.beta.kubernetes.io/storage-class"
UNREACHABLE = "node(s) didn't match PersistentVolume's node affinity"
NO_EVENT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
ZONES = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}


@dataclass
class Stored:
    """Everything by name; all claims are in one namespace."""

    nodes: dict[str, Json] = field(default_factory=dict)
    claims: dict[str, Json] = field(default_factory=dict)
    volumes: dict[str, Json] = field(default_factory=dict)
    classes: dict[str, Json] = field(default_factory=dict)
    drivers: dict[str, Json] = field(default_factory=dict)
    capacities: dict[str, Json] = field(default_factory=dict)
    csi_nodes: dict[str, Json] = field(default_factory=dict)
    attachments: dict[str, Json] = field(default_factory=dict)
    users: list[tuple[str, list[str]]] = field(default_factory=list)  # of pods: the node, the names of their claims


def outright(claims: list[str], stored: Stored) -> str:
    """Why no node needs to be asked."""
    for name in claims:
        claim = stored.claims.get(name)
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim["status"]["phase"] == "Lost":
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{_volume_name(claim)}"'
        if "deletionTimestamp" in claim["metadata"]:
            return f'persistentvolumeclaim "{name}" is being deleted'
    for name in claims:
        claim = stored.claims[name]
        storage_class = stored.classes.get(_class(claim), {})
        waits = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        if not _is_bound(claim) and (_volume_name(claim) or not waits):
            return "pod has unbound immediate PersistentVolumeClaims"
    missing = [_volume_name(stored.claims[name]) for name in claims]
    missing = [name for name in missing if name and name not in stored.volumes]
    return f'persistentvolume "{missing[0]}" not found' if missing else ""


def binding(claims: list[str], node: Json, stored: Stored) -> tuple[list[str], Choice]:
    """The reasons against one node, and what the claims get there."""
    wanted = [stored.claims[name] for name in dict.fromkeys(claims)]
    reasons = _about_bound([c for c in wanted if _is_bound(c)], node, stored)
    delayed = [c for c in wanted if not _is_bound(c)]
    selected = [c for c in delayed if _annotation(c, SELECTED_NODE)]
    if any(_annotation(c, SELECTED_NODE) != node["metadata"]["name"] for c in selected):
        return [*reasons, NO_EVENT], {}
    choice: Choice = {}
    unmatched = list(selected)
    for claim in sorted((c for c in delayed if c not in selected), key=_size):
        volume = _best_volume(claim, node, stored, taken=set(choice.values()))
        if volume:
            choice[claim["metadata"]["name"]] = volume
        else:
            unmatched.append(claim)
    for claim in unmatched:
        problem = _problem_with_making(claim, node, stored)
        if problem:
            return [*reasons, problem], {}
    return reasons, choice | {claim["metadata"]["name"]: "" for claim in unmatched}


def in_zone(claims: list[str], node: Json, stored: Stored) -> bool:
    labels = labels_of(node)
    if not labels.keys() & ZONES.keys():
        return True
    for name in claims:
        volume = stored.volumes.get(_volume_name(stored.claims[name]), {"metadata": {}})
        for key, value in labels_of(volume).items():
            zones = value.split("__")
            if key in ZONES and all(zones) and labels.get(key, labels.get(ZONES[key])) not in zones:
                return False
    return True


def within_limits(claims: list[str], node: Json, stored: Stored) -> bool:
    name = node["metadata"]["name"]
    drivers = stored.csi_nodes.get(name, {"spec": {"drivers": []}})["spec"]["drivers"]
    limits = {d["name"]: d["allocatable"]["count"] for d in drivers if "allocatable" in d}
    new = _attached_for(claims, stored)
    there = {a for where, used in stored.users if where == name for a in _attached_for(used, stored)}
    for attachment in stored.attachments.values():
        volume = stored.volumes.get(attachment["spec"]["source"]["persistentVolumeName"], {"spec": {}})
        if attachment["spec"]["nodeName"] == name and "csi" in volume["spec"]:
            there.add((volume["spec"]["csi"]["driver"], volume["spec"]["csi"]["volumeHandle"]))
    for driver, limit in limits.items():
        added = {a for a in new - there if a[0] == driver}
        if added and len(added) + len({a for a in there if a[0] == driver}) > limit:
            return False
    return True


# --- the small questions ---


def _about_bound(claims: list[Json], node: Json, stored: Stored) -> list[str]:
    for claim in claims:
        volume = stored.volumes.get(_volume_name(claim))
        if volume is None:
            return [MISSING]
        if not _reaches(node, volume):
            return [UNREACHABLE]
    return []


def _best_volume(claim: Json, node: Json, stored: Stored, taken: set[str]) -> str:
    usable = [v for v in stored.volumes.values() if _is_usable(v, claim)]
    candidates = _own(usable, claim) or [v for v in usable if _is_free(v) and _suits(v, claim)]
    good = [v for v in candidates if v["metadata"]["name"] not in taken and _reaches(node, v)]
    best = min(good, key=lambda v: (_size_of(v), v["metadata"]["name"]), default=None)
    return best["metadata"]["name"] if best else ""


def _is_usable(volume: Json, claim: Json) -> bool:
    return (
        _class(volume) == _class(claim)
        and volume["spec"].get("volumeMode", "Filesystem") == claim["spec"].get("volumeMode", "Filesystem")
        and volume["spec"].get("volumeAttributesClassName") == claim["spec"].get("volumeAttributesClassName")
        and "deletionTimestamp" not in volume["metadata"]
        and _size_of(volume) >= _size(claim)
    )


def _own(volumes: list[Json], claim: Json) -> list[Json]:
    def names(volume: Json) -> bool:
        reference = volume["spec"].get("claimRef", {})
        return reference.get("name") == claim["metadata"]["name"] and (
            reference.get("uid", "") in ("", claim["metadata"]["uid"])
        )

    return [volume for volume in volumes if names(volume)]


def _is_free(volume: Json) -> bool:
    return "claimRef" not in volume["spec"] and volume["status"]["phase"] == "Available"


def _suits(volume: Json, claim: Json) -> bool:
    modes = set(claim["spec"]["accessModes"]) <= set(volume["spec"]["accessModes"])
    return modes and ("selector" not in claim["spec"] or selects(claim["spec"]["selector"], labels_of(volume)))


def _problem_with_making(claim: Json, node: Json, stored: Stored) -> str:
    storage_class = stored.classes[_class(claim)]
    provisioner = storage_class["provisioner"]
    has_own = not _annotation(claim, SELECTED_NODE) and _own(
        [v for v in stored.volumes.values() if _is_usable(v, claim)], claim
    )
    if has_own or provisioner in ("", "kubernetes.io/no-provisioner"):
        return NO_EVENT
    terms = storage_class.get("allowedTopologies", [])
    if terms and not any(_in_topology(term["matchLabelExpressions"], node) for term in terms):
        return NO_EVENT
    if not stored.drivers.get(provisioner, {"spec": {}})["spec"].get("storageCapacity"):
        return ""
    reports = [r for r in stored.capacities.values() if r["storageClassName"] == storage_class["metadata"]["name"]]
    rooms = [
        r.get("maximumVolumeSize", r.get("capacity")) for r in reports if selects(r["nodeTopology"], labels_of(node))
    ]
    return "" if any(room and amount("storage", room) >= _size(claim) for room in rooms) else NO_SPACE


def _in_topology(expressions: list[Json], node: Json) -> bool:
    return all(labels_of(node).get(e["key"]) in e["values"] for e in expressions)


def _attached_for(claims: list[str], stored: Stored) -> set[tuple[str, str]]:
    found = set()
    for name in claims:
        claim = stored.claims.get(name)
        if claim is None:
            continue
        volume = stored.volumes.get(_volume_name(claim))
        storage_class = stored.classes.get(_class(claim))
        if volume is not None and "csi" in volume["spec"]:
            found.add((volume["spec"]["csi"]["driver"], volume["spec"]["csi"]["volumeHandle"]))
        elif volume is None and storage_class is not None:
            found.add((storage_class["provisioner"], f"for {name}"))
    return found


def _reaches(node: Json, volume: Json) -> bool:
    if "nodeAffinity" not in volume["spec"]:
        return True
    terms = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    return any(node_term_matches(term, node) for term in terms)


def _is_bound(claim: Json) -> bool:
    return bool(_volume_name(claim)) and bool(_annotation(claim, "pv.kubernetes.io/bind-completed"))


def _annotation(obj: Json, key: str) -> str:
    return obj["metadata"].get("annotations", {}).get(key, "")


def _class(obj: Json) -> str:
    return _annotation(obj, CLASS) or obj["spec"]["storageClassName"]


def _volume_name(claim: Json) -> str:
    return claim["spec"].get("volumeName", "")


def _size(claim: Json) -> int:
    return amount("storage", claim["spec"]["resources"]["requests"]["storage"])


def _size_of(volume: Json) -> int:
    return amount("storage", volume["spec"]["capacity"]["storage"])
