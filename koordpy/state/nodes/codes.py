"""Small integers for values that many nodes share; a code that no node uses any more is given to the next new value."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)


class Codes(Generic[V]):
    """Codes with a count of their users, so that values that come and go for ever need no more room than those there.

    A cluster autoscaler writes a timestamp into a taint of every node it looks at: each is a new value, once.
    """

    def __init__(self, nothing: V) -> None:
        self.values: list[V] = []  # by code; `nothing` where a code is free
        self._nothing = nothing
        self._code_of: dict[V, int] = {}
        self._users: list[int] = []
        self._free: list[int] = []

    def get(self, value: V) -> int | None:
        return self._code_of.get(value)

    def use(self, value: V) -> int:
        """The code of a value, for one more user."""
        code = self._code_of.get(value)
        if code is None:
            code = self._new(value)
        self._users[code] += 1
        return code

    def leave(self, code: int) -> None:
        """One user less."""
        self._users[code] -= 1
        if not self._users[code]:
            del self._code_of[self.values[code]]
            self.values[code] = self._nothing
            self._free.append(code)

    def _new(self, value: V) -> int:
        if self._free:
            code = self._free.pop()
            self.values[code] = value
        else:
            code = len(self.values)
            self.values.append(value)
            self._users.append(0)
        self._code_of[value] = code
        return code
