"""A copy of the cluster state, on which anything may be tried: nodes that do not exist, pods that change.

A trial undoes what is counted on nodes, and nothing else may change inside it. Questions of users change more than
that, so they are asked of a copy, and the state itself never hears of them. A copy costs some microseconds a pod.

Everything that counts is copied, whatever refers to whatever; typed objects of the API, functions and whatever is
not named as part of the state are shared. What shapes remember of earlier plans is left behind: it is brought up to
date in place, and two states would write into it.
"""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import numpy as np

from koordpy.state.changes import ChangeLog
from koordpy.state.pods import PodRecord

T = TypeVar("T")

_ABSENT = object()
_STATE = ("koordpy.state.", "koordpy.quota.")  # packages whose objects hold counts
_ATOMS: frozenset[type] = frozenset((str, int, float, bool, bytes, type(None)))


def copy_of(root: T, parts: Collection[type] = ()) -> T:
    """The object and everything of the state that it leads to; `parts` are further classes that are copied."""
    return _Copying(parts).run(root)


class _Copying:
    """One copy. Objects are made empty and filled later, so that no chain of references is too long."""

    def __init__(self, parts: Collection[type]) -> None:
        self._parts = frozenset(parts)
        self._copies: dict[int, Any] = {}  # by the id of the original, which the root keeps alive
        self._to_fill: list[tuple[Any, Any]] = []
        self._fields: dict[type, list[str]] = {}
        self._how: dict[type, Callable[[Any], Any]] = dict.fromkeys(_ATOMS, _itself)
        self._how |= {
            dict: self._dict,
            list: self._list,
            set: self._set,
            tuple: self._tuple,
            Counter: self._counter,
            defaultdict: self._defaultdict,
            np.ndarray: self._array,
            weakref.WeakSet: self._weak_set,
            weakref.WeakValueDictionary: self._weak_values,
            ChangeLog: self._change_log,
            PodRecord: self._record,
        }

    def run(self, root: T) -> T:
        copied: T = self._copy(root)
        while self._to_fill:
            self._fill(*self._to_fill.pop())
        return copied

    def _copy(self, original: Any) -> Any:
        kind = type(original)
        how = self._how.get(kind)
        if how is None:
            how = self._how[kind] = self._way_of(kind)
        if how is _itself:
            return original
        known = self._copies.get(id(original))
        if known is None:
            known = self._copies[id(original)] = how(original)
        return known

    def _way_of(self, kind: type) -> Callable[[Any], Any]:
        if issubclass(kind, tuple) and hasattr(kind, "_make"):
            return self._named_tuple
        if kind in self._parts or (kind.__module__.startswith(_STATE) and _is_mutable(kind)):
            return self._empty
        return _itself

    # --- objects ---

    def _empty(self, original: Any) -> Any:
        copied = self._copies[id(original)] = object.__new__(type(original))
        self._to_fill.append((original, copied))
        return copied

    def _fill(self, original: Any, copied: Any) -> None:
        kind = type(original)
        for name in self._fields.get(kind) or self._fields.setdefault(kind, _fields_of(kind)):
            value = getattr(original, name, _ABSENT)
            if value is not _ABSENT:
                object.__setattr__(copied, name, {} if name == "memo" else self._copy(value))
        for name, value in vars(original).items() if hasattr(original, "__dict__") else ():
            copied.__dict__[name] = self._copy(value)

    def _record(self, original: PodRecord) -> PodRecord:
        """Almost all of a state are these, and all that they share is what no one changes in place."""
        copied: PodRecord = original.__copy__()  # type: ignore[attr-defined]
        copied.shape, copied.own_shape = self._copy(original.shape), self._copy(original.own_shape)
        return copied

    def _change_log(self, _: ChangeLog) -> ChangeLog:
        """Nobody is told what happens to a copy."""
        return ChangeLog()

    # --- containers ---

    def _dict(self, original: dict[Any, Any]) -> dict[Any, Any]:
        copy, known = self._copy, self._copies.get
        if not _ATOMS.issuperset(map(type, original)):
            return {copy(key): copy(value) for key, value in original.items()}
        if _ATOMS.issuperset(map(type, original.values())):
            return dict(original)
        return {key: known(id(value)) or copy(value) for key, value in original.items()}

    def _list(self, original: list[Any]) -> list[Any]:
        return list(original) if _ATOMS.issuperset(map(type, original)) else [self._copy(each) for each in original]

    def _set(self, original: set[Any]) -> set[Any]:
        return set(original) if _ATOMS.issuperset(map(type, original)) else {self._copy(each) for each in original}

    def _counter(self, original: Counter[Any]) -> Counter[Any]:
        copied: Counter[Any] = Counter()
        dict.update(copied, self._dict(original))
        return copied

    def _defaultdict(self, original: defaultdict[Any, Any]) -> defaultdict[Any, Any]:
        return defaultdict(original.default_factory, self._dict(original))

    def _tuple(self, original: tuple[Any, ...]) -> tuple[Any, ...]:
        if _ATOMS.issuperset(map(type, original)):
            return original
        copied = tuple([self._copy(each) for each in original])
        return original if all(map(_is, copied, original)) else copied

    def _named_tuple(self, original: Any) -> Any:
        copied = [self._copy(each) for each in original]
        return original if all(map(_is, copied, original)) else type(original)._make(copied)

    def _array(self, original: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return original.copy()

    def _weak_set(self, original: weakref.WeakSet[Any]) -> weakref.WeakSet[Any]:
        return weakref.WeakSet(self._copy(each) for each in original)

    def _weak_values(self, original: weakref.WeakValueDictionary[Any, Any]) -> weakref.WeakValueDictionary[Any, Any]:
        return weakref.WeakValueDictionary({key: self._copy(value) for key, value in original.items()})


def _itself(original: T) -> T:
    return original


def _is(one: object, other: object) -> bool:
    return one is other


def _is_mutable(kind: type) -> bool:
    """Enumerations and frozen structs are values."""
    config = getattr(kind, "__struct_config__", None)
    return not hasattr(kind, "__members__") and (config is None or not config.frozen)


def _fields_of(kind: type) -> list[str]:
    """The slots of a class and its bases; what a `__dict__` has is not among them."""
    found: list[str] = []
    for each in kind.__mro__:
        slots = each.__dict__.get("__slots__", ())
        found += [slots] if isinstance(slots, str) else list(slots)
    return [name for name in found if name not in ("__weakref__", "__dict__")]
