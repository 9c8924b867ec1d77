"""Strategic merge patch: a merge patch that merges some lists by a key of their elements.

Which key is decided by the name of the field alone; that is unambiguous for the resources served here.
A list that is not named is replaced as a whole. Built-in resources only: custom resources refuse this patch.
"""

from __future__ import annotations

from typing import Any

from koordpy.sim.embedded.errors import bad_request

Obj = dict[str, Any]

_MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "schedulingGates": ("name",),
    "resourceClaims": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "conditions": ("type",),
    "addresses": ("type",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "hostIPs": ("ip",),
    "ports": ("containerPort", "port"),
    "drivers": ("name",),
    "secrets": ("name",),
}
_SETS = frozenset(("finalizers", "podCIDRs"))
_ORDER, _DELETE_FROM, _RETAIN = "$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys"


def strategic_merge(target: Obj, change: Obj) -> Obj:
    """Apply `change` to `target` in place and return it."""
    directive = change.get("$patch")
    if directive == "replace":
        return {key: value for key, value in change.items() if key != "$patch"}
    if directive == "delete":
        return {}
    if _RETAIN in change:
        for key in [key for key in target if key not in change[_RETAIN]]:
            del target[key]
    for key, value in change.items():
        if not key.startswith("$"):
            _merge_field(target, key, value)
        elif key.startswith(_DELETE_FROM):
            name = key.removeprefix(_DELETE_FROM)
            target[name] = [item for item in target.get(name) or () if item not in value]
    for key, order in change.items():
        if key.startswith(_ORDER):
            _reorder(target, key.removeprefix(_ORDER), order)
    return target


def _merge_field(target: Obj, key: str, value: Any) -> None:
    if value is None:
        target.pop(key, None)
    elif isinstance(value, dict):
        present = target.get(key)
        target[key] = strategic_merge(present if isinstance(present, dict) else {}, value)
    elif not isinstance(value, list):
        target[key] = value
    elif key in _SETS:
        present = target.get(key) or []
        target[key] = [*present, *(item for item in value if item not in present)]
    elif key in _MERGE_KEYS and all(isinstance(item, dict) for item in value):
        target[key] = _merge_list(target.get(key) or [], key, value)
    else:
        target[key] = value


def _merge_list(present: list[Obj], key: str, changes: list[Obj]) -> list[Obj]:
    if any(change.get("$patch") == "replace" for change in changes):
        return [change for change in changes if "$patch" not in change]
    merged = list(present)
    for change in changes:
        by = _merge_key(key, change)
        index = next((i for i, item in enumerate(merged) if item.get(by) == change[by]), None)
        if change.get("$patch") == "delete":
            if index is not None:
                del merged[index]
        elif index is None:
            merged.append(strategic_merge({}, change))
        else:
            merged[index] = strategic_merge(merged[index], change)
    return merged


def _merge_key(field: str, change: Obj) -> str:
    for key in _MERGE_KEYS[field]:
        if key in change:
            return key
    wanted = " or ".join(_MERGE_KEYS[field])
    raise bad_request(f"an element of {field} in the strategic merge patch lacks its merge key {wanted}")


def _reorder(target: Obj, key: str, order: list[Any]) -> None:
    """Elements that the order names come in that order; the others follow as they were."""
    items = target.get(key)
    if not isinstance(items, list):
        return

    def rank(item: Any) -> int:
        for position, entry in enumerate(order):
            if item == entry or (isinstance(entry, dict) and entry.items() <= item.items()):
                return position
        return len(order)

    items.sort(key=rank)
