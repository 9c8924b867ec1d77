"""Discovery: which groups, versions and resources are served, and health and version.

Aggregated discovery is not offered; clients fall back to one request per group and version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.request import Response

if TYPE_CHECKING:
    from koordpy.sim.embedded.resources import Registry, Resource

Obj = dict[str, Any]

VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "koordpy/embedded",
}


def answer(registry: Registry, parts: list[str]) -> Response | None:
    if parts and parts[0] in ("healthz", "livez", "readyz"):
        return Response(200, b"ok", {"Content-Type": "text/plain; charset=utf-8"})
    told = _told(registry, parts)
    return None if told is None else Response.of(told)


def _told(registry: Registry, parts: list[str]) -> Obj | None:
    told: Obj | None = None
    match parts:
        case ["version"]:
            told = VERSION
        case ["api"]:
            told = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = [_group(name, versions) for name, versions in registry.versions().items() if name]
            told = {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group] if group in registry.versions():
            told = {"apiVersion": "v1", "kind": "APIGroup"} | _group(group, registry.versions()[group])
        case ["api", "v1"]:
            told = _resource_list(registry, "", "v1")
        case ["apis", group, version] if registry.of(group, version):
            told = _resource_list(registry, group, version)
    return told


def _group(name: str, versions: list[str]) -> Obj:
    told = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": told, "preferredVersion": told[0]}


def _resource_list(registry: Registry, group: str, version: str) -> Obj:
    entries: list[Obj] = []
    for resource in registry.of(group, version):
        entries.append(_entry(resource))
        entries += [_subresource_entry(resource, name) for name in resource.subresources]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": entries,
    }


def _entry(resource: Resource) -> Obj:
    entry: Obj = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    return entry


def _subresource_entry(resource: Resource, name: str) -> Obj:
    operations: dict[str, Obj] = {
        "binding": {"kind": "Binding", "verbs": ["create"]},
        "eviction": {"group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"]},
        "scale": {"group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"]},
    }
    told = operations.get(name, {"kind": resource.kind, "verbs": ["get", "patch", "update"]})
    entry = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced}
    return entry | told
