"""Tables, which is how `kubectl get` asks for objects: columns and cells made by the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded import podtable, workloadtable
from koordpy.sim.embedded.columns import Cell, Column, age, at_path, number, text
from koordpy.sim.embedded.reading import list_metadata

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.reading import Page
    from koordpy.sim.embedded.request import Request
    from koordpy.sim.embedded.resources import Resource
    from koordpy.sim.embedded.store import Stored

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """Turns objects of one resource into rows, for one request."""

    resource: Resource
    columns: list[Column]
    include: str
    now: float

    def row(self, stored: Stored) -> Obj:
        obj = self.resource.from_storage(stored.obj) if self.resource.from_storage else stored.obj
        row: Obj = {"cells": [column.cell(obj, self.now) for column in self.columns]}
        if self.include == "Object":
            row["object"] = obj
        elif self.include != "None":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": obj["metadata"],
            }
        return row

    def table(self, items: list[Stored], metadata: Obj) -> Obj:
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": [column.definition() for column in self.columns],
            "rows": [self.row(item) for item in items],
        }


def _rows(backend: Backend, resource: Resource, request: Request) -> Rows:
    include = request.query.get("includeObject", "Metadata")
    return Rows(resource, _columns(resource), include, backend.clock())


def of_page(backend: Backend, resource: Resource, request: Request, page: Page) -> Obj:
    return _rows(backend, resource, request).table(page.items, list_metadata(page))


def of_object(backend: Backend, resource: Resource, request: Request, stored: Stored) -> Obj:
    return _rows(backend, resource, request).table([stored], {"resourceVersion": str(stored.rv)})


def _columns(resource: Resource) -> list[Column]:
    name = Column("Name", text("metadata.name"), format="name")
    if resource.storage == "events":
        return _EVENTS
    if resource.custom:
        custom = [_custom_column(column) for column in resource.columns]
        return [name, *(custom or [_AGE])]
    return [name, *_BUILTIN.get(resource.storage, [_AGE])]


def _custom_column(spec: Obj) -> Column:
    kind = spec.get("type", "string")
    path = spec["jsonPath"]
    cell = age(path.lstrip(".")) if kind == "date" else lambda obj, _now: at_path(obj, path)
    return Column(spec["name"], cell, kind=kind, priority=spec.get("priority", 0))


def _node_status(node: Obj, _now: float) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((c["status"] for c in conditions if c["type"] == "Ready"), "")
    words = ["Ready" if ready == "True" else "NotReady" if ready else "Unknown"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(node: Obj, _now: float) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = node["metadata"].get("labels") or {}
    return ",".join(sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix))) or "<none>"


def _node_address(kind: str) -> Cell:
    def cell(node: Obj, _now: float) -> str:
        addresses = (node.get("status") or {}).get("addresses") or ()
        return next((str(one["address"]) for one in addresses if one["type"] == kind), "<none>")

    return cell


def _entries(*fields: str) -> Cell:
    return lambda obj, _now: sum(len(obj.get(field) or ()) for field in fields)


def _event_object(event: Obj, _now: float) -> str:
    about = event.get("involvedObject") or event.get("regarding") or {}
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


def _event_seen(event: Obj, now: float) -> str:
    last_seen = ("series.lastObservedTime", "lastTimestamp", "deprecatedLastTimestamp", "eventTime")
    for path in (*last_seen, "metadata.creationTimestamp"):
        if at_path(event, path):
            return str(age(path)(event, now))
    return "<unknown>"


def _event_source(event: Obj, _now: float) -> str:
    source = event.get("source") or event.get("deprecatedSource") or {}
    said_by = event.get("reportingComponent") or event.get("reportingController") or ""
    return str(source.get("component") or said_by)


def _event_count(event: Obj) -> int:
    return int(at_path(event, "series.count") or event.get("count") or event.get("deprecatedCount") or 1)


def _event_message(event: Obj, _now: float) -> str:
    return str(event.get("message") or event.get("note") or "").strip()


_AGE = Column("Age", age("metadata.creationTimestamp"))
_EVENTS = [  # the only ones whose name is of no interest
    Column("Last Seen", _event_seen),
    Column("Type", text("type")),
    Column("Reason", text("reason")),
    Column("Object", _event_object),
    Column("Source", _event_source, priority=1),
    Column("Message", _event_message),
    Column("Count", lambda event, _now: _event_count(event), priority=1),
    Column("Name", text("metadata.name"), format="name", priority=1),
]
_BUILTIN: dict[str, list[Column]] = {
    "pods": podtable.COLUMNS,
    "nodes": [
        Column("Status", _node_status),
        Column("Roles", _node_roles),
        _AGE,
        Column("Version", text("status.nodeInfo.kubeletVersion")),
        Column("Internal-IP", _node_address("InternalIP"), priority=1),
        Column("External-IP", _node_address("ExternalIP"), priority=1),
        Column("OS-Image", text("status.nodeInfo.osImage", "<unknown>"), priority=1),
        Column("Kernel-Version", text("status.nodeInfo.kernelVersion", "<unknown>"), priority=1),
        Column("Container-Runtime", text("status.nodeInfo.containerRuntimeVersion", "<unknown>"), priority=1),
    ],
    **workloadtable.COLUMNS,
    "configmaps": [Column("Data", _entries("data", "binaryData"), kind="integer"), _AGE],
    "secrets": [Column("Type", text("type")), Column("Data", _entries("data"), kind="integer"), _AGE],
    "serviceaccounts": [Column("Secrets", _entries("secrets"), kind="integer"), _AGE],
    "namespaces": [Column("Status", text("status.phase")), _AGE],
    "leases.coordination.k8s.io": [Column("Holder", text("spec.holderIdentity")), _AGE],
    "priorityclasses.scheduling.k8s.io": [
        Column("Value", number("value"), kind="integer"),
        Column("Global-Default", lambda obj, _now: bool(obj.get("globalDefault")), kind="boolean"),
        _AGE,
        Column("PreemptionPolicy", text("preemptionPolicy")),
    ],
    "poddisruptionbudgets.policy": [
        Column("Min Available", text("spec.minAvailable", "N/A")),
        Column("Max Unavailable", text("spec.maxUnavailable", "N/A")),
        Column("Allowed Disruptions", number("status.disruptionsAllowed"), kind="integer"),
        _AGE,
    ],
    "customresourcedefinitions.apiextensions.k8s.io": [
        Column("Created At", text("metadata.creationTimestamp"), kind="date"),
    ],
    "persistentvolumeclaims": [
        Column("Status", text("status.phase")),
        Column("Volume", text("spec.volumeName")),
        Column("StorageClass", text("spec.storageClassName")),
        _AGE,
    ],
    "persistentvolumes": [
        Column("Capacity", text("spec.capacity.storage")),
        Column("Status", text("status.phase")),
        Column("Claim", text("spec.claimRef.name")),
        Column("StorageClass", text("spec.storageClassName")),
        _AGE,
    ],
}
