"""Server-side apply: merge what a manager applies, drop what it no longer applies, record who did.

Simpler than the real one in two ways: it sees no conflicts between managers (the last one wins, as with
`force`), and lists that are not merged by key belong as a whole to whoever applied them last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from koordpy.sim.embedded.errors import ApiError, bad_request, invalid, required
from koordpy.sim.embedded.patch import merge_patch
from koordpy.sim.embedded.strategic import strategic_merge

if TYPE_CHECKING:
    from koordpy.sim.embedded.request import Request
    from koordpy.sim.embedded.resources import Resource

Obj = dict[str, Any]


def applied_object(request: Request) -> Obj:
    """The body, which is YAML; kubectl sends the part of it that is JSON, which has a far quicker parser."""
    if not request.query.get("fieldManager"):
        missing = required("fieldManager", "is required for apply patch")
        raise invalid("PatchOptions", "meta.k8s.io", "", [missing])
    try:
        decoded = request.json() if request.body.startswith(b"{") else yaml.safe_load(request.body)
    except yaml.YAMLError as error:
        raise bad_request(f"error decoding YAML: {error}") from None
    if not isinstance(decoded, dict):
        raise bad_request("the applied configuration must be an object")
    if (decoded.get("metadata") or {}).get("managedFields"):
        raise ApiError(400, "BadRequest", "metadata.managedFields must be nil")
    return decoded


def apply(resource: Resource, target: Obj, config: Obj, manager: str, time: str) -> Obj:
    """Merge `config` into `target` (a private copy, or empty for a new object) for `manager`."""
    fields = _owned_fields(config)
    entry = _entry_of(target, manager)
    if entry is not None:
        _drop_unowned(target, entry.get("fieldsV1") or {}, fields)
    merged = strategic_merge(target, config) if not resource.custom else merge_patch(target, config)
    record = {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": resource.api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    if entry is not None and entry.get("fieldsV1") == fields:
        record["time"] = entry["time"]  # applying the same again changes nothing, not even a timestamp
    others = [one for one in merged["metadata"].get("managedFields") or () if one is not entry]
    merged["metadata"]["managedFields"] = [*others, record]
    return merged


def _entry_of(target: Obj, manager: str) -> Obj | None:
    entries = (target.get("metadata") or {}).get("managedFields") or ()
    return next((e for e in entries if e["manager"] == manager and e["operation"] == "Apply"), None)


def _owned_fields(config: Obj) -> Obj:
    owned = {f"f:{key}": _tree(value) for key, value in config.items() if key not in ("apiVersion", "kind")}
    for key in ("name", "namespace"):
        owned.get("f:metadata", {}).pop(f"f:{key}", None)
    return owned


def _tree(value: Any) -> Obj:
    return {f"f:{key}": _tree(item) for key, item in value.items()} if isinstance(value, dict) else {}


def _drop_unowned(target: Any, before: Obj, now: Obj) -> None:
    """Remove fields the manager applied before and does not apply any more."""
    if not isinstance(target, dict):
        return
    for name, below in before.items():
        key = name.removeprefix("f:")
        if name not in now:
            target.pop(key, None)
        elif below:
            _drop_unowned(target.get(key), below, now[name])
