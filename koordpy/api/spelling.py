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
    if name.isupper() and isinstance(value, str) and any(part in value for part in ("koord", "pod-group"))
)
_LOOKS_LIKE_OURS = ("koord", "pod-group", "podgroup", "scheduling.")  # a part of the key, in any case
_LIKENESS = 0.85  # of 1: two or three letters in a key of twenty


@lru_cache(maxsize=4096)  # pods share their keys, so that each is looked at once
def likely_key(key: str) -> str:
    """The key of ours that was probably meant; empty: it is one of ours, or nothing like any."""
    if key in _OURS or not any(part in key.lower() for part in _LOOKS_LIKE_OURS):
        return ""
    return likely(key, _OURS)


def likely(word: str, known: Collection[str]) -> str:
    """The one of some words that a word is a misspelling of; empty: it is one of them, or like none."""
    if word in known:
        return ""
    return next(iter(get_close_matches(word, sorted(known), n=1, cutoff=_LIKENESS)), "")
