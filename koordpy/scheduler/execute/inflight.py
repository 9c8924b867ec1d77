"""Pods whose binds are in flight: released to be bound, and not seen bound yet.

An assumed pod is either here or waits at Permit. After an error of ours, one that is neither holds room for nobody.
"""

from __future__ import annotations

from collections.abc import Iterable


class InFlight:
    """UIDs, from the release of a job until the watch shows each pod bound, or its bind has failed."""

    def __init__(self) -> None:
        self._uids: set[str] = set()
        # Where we meant to bind a pod. Kept when a bind has failed: it may arrive after all, and is ours then.
        self._nodes: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._uids)

    def __contains__(self, uid: object) -> bool:
        return uid in self._uids

    def add(self, placed: Iterable[tuple[str, str]]) -> None:
        """UIDs, each with its node."""
        for uid, node in placed:
            self._uids.add(uid)
            before = self._nodes.get(uid, ())
            self._nodes[uid] = before if node in before else (*before, node)

    def may_be_ours(self, uid: str, node: str) -> bool:
        """A pod is seen bound to a node: whether we ever meant to do that."""
        return node in self._nodes.get(uid, ())

    def end(self, uid: str) -> None:
        """Its bind has failed, or will not be sent."""
        self._uids.discard(uid)

    def settled(self, uid: str) -> None:
        """The pod was seen bound, or is gone: nothing can happen to its bind any more."""
        self._uids.discard(uid)
        self._nodes.pop(uid, None)

    def clear(self) -> None:
        self._uids.clear()
