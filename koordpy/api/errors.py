"""Errors in objects, with messages that their owner can act on."""

from __future__ import annotations


class MalformedValue(ValueError):
    """A value inside an object that cannot be parsed: names the field, the value and the reason."""

    def __init__(self, field: str, value: object, problem: str) -> None:
        self.field, self.value, self.problem = field, value, problem
        super().__init__(f"{field}: {_shorten(value)!r} {problem}")


class MalformedObject(ValueError):
    """An object that cannot be decoded at all: names the object and the field."""

    def __init__(self, kind: str, key: str, problem: str) -> None:
        self.kind, self.key, self.problem = kind, key, problem
        super().__init__(f"{kind} {key}: {problem}")


def _shorten(value: object) -> object:
    # A quantity of a megabyte of digits must not become a log line of a megabyte.
    if isinstance(value, str) and len(value) > 80:
        return value[:77] + "..."
    return value
