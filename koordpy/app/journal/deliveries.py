"""The sinks of a scheduler that is recorded, and the last state of every object, with which the next file begins.

Objects are kept as the journal has them: the fields that koordpy decodes, and of annotations only the values that it
may read. An annotation can hold anything, such as the whole manifest with its environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from koordpy.api import keys
from koordpy.api.coordination import Lease
from koordpy.api.decode import Decoder
from koordpy.app.journal.recorder import Recorder
from koordpy.kube.watch.sinks import Sink
from koordpy.scheduler.ingest import resources
from koordpy.scheduler.ingest.sinks import Sinks

DECODERS: dict[str, Decoder[Any]] = {
    "nodes": resources.NODES.decode,
    "namespaces": resources.NAMESPACES.decode,
    "priority_classes": resources.PRIORITY_CLASSES.decode,
    "grouper": Decoder("Lease", Lease),
    "queues": resources.QUEUES.decode,
    "topologies": resources.TOPOLOGIES.decode,
    "budgets": resources.BUDGETS.decode,
    "services": resources.SERVICES.decode,
    **{f"owners/{kind}": resource.decode for kind, resource in resources.OWNERS.items()},
    **{f"storage/{kind}": resource.decode for kind, resource in resources.STORAGE.items()},
    **{f"gang_objects/{version}": resource.decode for version, resource in resources.GANG_OBJECTS.items()},
    "pods": resources.PODS.decode,
}
SETTLED = ("queues", "pods")
_OURS = {value for name, value in vars(keys).items() if name.isupper() and isinstance(value, str)}
_DOMAINS = {value.partition("/")[0] for value in _OURS if "/" in value}


def sink_of(sinks: Sinks, name: str) -> Sink[Any]:
    """By the name that the journal has for it."""
    field, _, which = name.partition("/")
    found = getattr(sinks, field)
    sink: Sink[Any] = found[which] if which else found
    return sink


class Deliveries:
    """What the watches deliver, kept, recorded, and handed on to the scheduler of the moment."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, bytes]] = {name: {} for name in DECODERS}
        self._served: dict[str, bool] = {}
        self._sinks: Sinks | None = None
        self._recorder: Recorder | None = None

    def sinks(self) -> Sinks:
        """What the watches are to deliver to."""
        sink: dict[str, Sink[Any]] = {name: _Delivery(name, self) for name in DECODERS}
        return Sinks(
            pods=sink["pods"],
            settle_pods=lambda: self._settle("pods"),
            nodes=sink["nodes"],
            gang_objects={version: sink[f"gang_objects/{version}"] for version in resources.GANG_OBJECTS},
            gang_objects_served=self._note_served,
            priority_classes=sink["priority_classes"],
            grouper=sink["grouper"],
            queues=sink["queues"],
            settle_queues=lambda: self._settle("queues"),
            topologies=sink["topologies"],
            budgets=sink["budgets"],
            namespaces=sink["namespaces"],
            services=sink["services"],
            owners={kind: sink[f"owners/{kind}"] for kind in resources.OWNERS},
            storage={kind: sink[f"storage/{kind}"] for kind in resources.STORAGE},
        )

    def begin(self, sinks: Sinks, recorder: Recorder | None) -> None:
        """A scheduler that knows nothing takes over: it is told everything, and from now on what is new."""
        self._sinks, self._recorder = sinks, recorder
        for version, served in self._served.items():
            self._tell(("served", version, served), lambda: sinks.gang_objects_served(version, served))  # noqa: B023
        for name, obj in self._known():
            self._deliver(name, obj, DECODERS[name](obj))
        for name in SETTLED:
            self._settle(name)

    def _known(self) -> Iterator[tuple[str, bytes]]:
        for name, objects in self._objects.items():
            for obj in objects.values():
                yield name, obj

    # --- what comes in ---

    def upsert(self, name: str, obj: Any) -> None:
        obj = without_foreign_values(obj)
        encoded = self._objects[name][obj.metadata.key] = msgspec.json.encode(obj)
        self._deliver(name, encoded, obj)

    def remove(self, name: str, key: str, uid: str) -> None:
        self._objects[name].pop(key, None)
        self._tell(("remove", name, key, uid), lambda: self._sink(name).remove(key, uid))

    def _settle(self, name: str) -> None:
        self._tell(("settle", name), getattr(self._sinks, f"settle_{name}"))

    def _note_served(self, version: str, served: bool) -> None:
        self._served[version] = served
        sinks = self._sinks
        assert sinks is not None
        self._tell(("served", version, served), lambda: sinks.gang_objects_served(version, served))

    def _deliver(self, name: str, encoded: bytes, obj: Any) -> None:
        self._tell(("upsert", name, msgspec.Raw(encoded)), lambda: self._sink(name).upsert(obj))

    def _sink(self, name: str) -> Sink[Any]:
        assert self._sinks is not None
        return sink_of(self._sinks, name)

    def _tell(self, entry: tuple[Any, ...], call: Callable[[], None]) -> None:
        if self._recorder is None:
            call()
        else:
            self._recorder.during(entry, call)


class _Delivery:
    """One sink."""

    def __init__(self, name: str, deliveries: Deliveries) -> None:
        self._name, self._deliveries = name, deliveries

    def upsert(self, obj: Any) -> None:
        self._deliveries.upsert(self._name, obj)

    def remove(self, key: str, uid: str) -> None:
        self._deliveries.remove(self._name, key, uid)


def without_foreign_values(obj: Any) -> Any:
    """The object, with nothing in annotations that are not about scheduling: their keys stay, to be spelt wrong."""
    annotations = obj.metadata.annotations
    if all(not value or _is_read(key) for key, value in annotations.items()):
        return obj
    kept = {key: value if _is_read(key) else "" for key, value in annotations.items()}
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, annotations=kept))


def _is_read(key: str) -> bool:
    return key in _OURS or key.partition("/")[0] in _DOMAINS
