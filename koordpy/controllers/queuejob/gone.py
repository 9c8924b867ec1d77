"""UIDs of objects that are gone, in case the answer to a write, or an older watch event, comes after their end."""

from __future__ import annotations

from collections import OrderedDict

# What is late is late by seconds. The oldest are forgotten, so that nothing grows for as long as the process lives.
MOST = 10_000


class Gone:
    """The last ones of one kind."""

    def __init__(self) -> None:
        self._uids: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, uid: str) -> bool:
        return uid in self._uids

    def add(self, uid: str) -> None:
        self._uids[uid] = None
        while len(self._uids) > MOST:
            self._uids.popitem(last=False)
