"""Pods whose binds are in flight: released to be bound, and not seen bound yet.

An assumed pod is either here or waits at Permit. After an error of ours, one that is neither holds room for nobody.
"""

from __future__ import annotations

from collections.abc import Iterable


class InFlight:
    """UIDs, from the release of a job until the watch shows each pod bound, or its bind has failed."""

    def __init__(self) -> None:
        self._uids: set[str] = set()

    def __contains__(self, uid: object) -> bool:
        return uid in self._uids

    def add(self, uids: Iterable[str]) -> None:
        self._uids.update(uids)

    def end(self, uid: str) -> None:
        self._uids.discard(uid)

    def clear(self) -> None:
        self._uids.clear()
