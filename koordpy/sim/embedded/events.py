"""One stored Event, two served shapes: core `v1` and `events.k8s.io/v1`.

The core shape is the stored one. The two differ in field names only, so both directions are a renaming.
"""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]

_CORE_TO_NEW = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_NEW_TO_CORE = {new: core for core, new in _CORE_TO_NEW.items()}


def to_core(event: Obj) -> Obj:
    return {_NEW_TO_CORE.get(key, key): value for key, value in event.items()} | {"apiVersion": "v1"}


def from_core(event: Obj) -> Obj:
    renamed = {_CORE_TO_NEW.get(key, key): value for key, value in event.items()}
    return renamed | {"apiVersion": "events.k8s.io/v1"}
