"""CustomResourceDefinitions: what they must say, and serving what they define at once.

Conversion between versions is the strategy `None`: only `apiVersion` changes. Validation rules in CEL
(`x-kubernetes-validations`) are stored and served but not evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.errors import FieldError, invalid_value, required
from koordpy.sim.embedded.resources import Resource

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.resources import Registry
    from koordpy.sim.embedded.store import Change

Obj = dict[str, Any]
STORAGE = "customresourcedefinitions.apiextensions.k8s.io"


def prepare_definition(backend: Backend, definition: Obj) -> None:
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {"strategy": "None"})
    condition = {"status": "True", "lastTransitionTime": backend.now()}
    definition["status"] = {
        "conditions": [
            condition | {"type": "NamesAccepted", "reason": "NoConflicts", "message": "no conflicts found"},
            condition
            | {
                "type": "Established",
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ],
        "acceptedNames": dict(names),
        "storedVersions": [version["name"] for version in spec.get("versions") or () if version.get("storage")],
    }


def definition_errors(definition: Obj) -> list[FieldError]:
    spec = definition["spec"]
    names = spec["names"]
    missing = [f"spec.{key}" for key in ("group", "scope", "versions") if not spec.get(key)]
    missing += [f"spec.names.{key}" for key in ("plural", "kind") if not names.get(key)]
    if missing:
        return [required(field) for field in missing]
    errors = []
    expected = f"{names['plural']}.{spec['group']}"
    if definition["metadata"]["name"] != expected:
        told = 'must be spec.names.plural+"."+spec.group'
        errors.append(invalid_value("metadata.name", definition["metadata"]["name"], told))
    if sum(bool(version.get("storage")) for version in spec["versions"]) != 1:
        told = "must have exactly one version marked as storage version"
        errors.append(invalid_value("spec.versions", [v.get("name") for v in spec["versions"]], told))
    for index, version in enumerate(spec["versions"]):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            told = "schemas are required"
            errors.append(required(f"spec.versions[{index}].schema.openAPIV3Schema", told))
    return errors


def serve_defined(registry: Registry, change: Change) -> None:
    """Follow the stored definitions: called with every change of one."""
    spec = change.new.obj["spec"]
    registry.remove(spec["group"], spec["names"]["plural"])
    if change.kind != "DELETED":
        for resource in _resources(spec):
            registry.add(resource)


def _resources(spec: Obj) -> list[Resource]:
    stored_as = next(version["name"] for version in spec["versions"] if version.get("storage"))
    served = [version for version in spec["versions"] if version.get("served")]
    return [_resource(spec, version, stored_as) for version in served]


def _resource(spec: Obj, version: Obj, stored_as: str) -> Resource:
    names, group, name = spec["names"], spec["group"], version["name"]
    return Resource(
        group,
        name,
        names["plural"],
        names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        singular=names.get("singular", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=("status",) if "status" in (version.get("subresources") or {}) else (),
        storage=f"{names['plural']}.{group}",
        from_storage=None if name == stored_as else _as_version(f"{group}/{name}"),
        to_storage=None if name == stored_as else _as_version(f"{group}/{stored_as}"),
        schema=version["schema"]["openAPIV3Schema"],
        custom=True,
        columns=tuple(version.get("additionalPrinterColumns") or ()),
    )


def _as_version(api_version: str) -> Any:
    return lambda obj: {**obj, "apiVersion": api_version}
