"""Keys and names that look like ours and are not: the likely spelling of what somebody meant.

A misspelt key is the most silent of mistakes. `gang.scheduling.koordinator.sh/min-availble` is legal, means nothing,
and the gang waits for ever for a minimum that its owner believes to have given.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from functools import lru_cache

from koordpy.api import keys

_OURS = frozenset(
    value
    for name, value in vars(keys).items()
    if name.isupper() and isinstance(value, str) and any(part in value for part in ("koord", "pod-group", "kai."))
)
_LOOKS_LIKE_OURS = ("koord", "pod-group", "podgroup", "scheduling.", "kai.")  # a part of the key, in any case
_LIKENESS = 0.85  # of 1: two or three letters in a key of twenty
_KAI = "kai.scheduler/"
_KAI_OURS = frozenset(key.removeprefix(_KAI) for key in _OURS if key.startswith(_KAI))
_LIKENESS_OF_SHORT = 0.75  # two letters of `queue` that changed places


@lru_cache(maxsize=4096)  # pods share their keys, so that each is looked at once
def likely_key(key: str) -> str:
    """The key of ours that was probably meant; empty: it is one of ours, or nothing like any."""
    if key in _OURS or not any(part in key.lower() for part in _LOOKS_LIKE_OURS):
        return ""
    if key.startswith(_KAI):  # KAI has keys that mean nothing to us; with what all begin with, each is like the others
        meant = likely(key.removeprefix(_KAI), _KAI_OURS, _LIKENESS_OF_SHORT)
        return f"{_KAI}{meant}" if meant else ""
    return likely(key, _OURS)


@lru_cache(maxsize=1024)  # jobs that name a queue that does not exist are tried again and again
def likely_name(word: str, known: frozenset[str]) -> str:
    """The same for names that people give, of which there may be a thousand."""
    return likely(word, known, _LIKENESS_OF_SHORT)


def likely(word: str, known: Collection[str], likeness: float = _LIKENESS) -> str:
    """The one of some words that a word is a misspelling of; empty: it is one of them, or like none."""
    if word in known:
        return ""
    return next(iter(get_close_matches(word, sorted(known), n=1, cutoff=likeness)), "")
