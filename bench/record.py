"""The record of a run, as JSON in the user's cache, so that the next run can say what has changed.

Owns that directory. Records are only added; a record that cannot be read is named and passed over.
"""

from __future__ import annotations

import datetime as dt
import os
import sys
from pathlib import Path

import msgspec

from bench.figures import Figure


class Record(msgspec.Struct, frozen=True):
    """One run of the bench."""

    date: str  # UTC, and the name of its file
    about: dict[str, str]
    figures: dict[str, Figure]
    notes: tuple[str, ...] = ()  # what other schedulers did wrong


def new_record(figures: list[Figure], about: dict[str, str], notes: tuple[str, ...] = ()) -> Record:
    date = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    return Record(date, about, {figure.name: figure for figure in figures}, notes)


def save(record: Record) -> Path:
    directory = records_directory()
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{record.date}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1))
    return path


def last_figures() -> dict[str, tuple[str, Figure]]:
    """For each figure ever measured, the date and the newest record of it: not every run measures everything."""
    found: dict[str, tuple[str, Figure]] = {}
    for path in sorted(records_directory().glob("*.json")):
        try:
            record = msgspec.json.decode(path.read_bytes(), type=Record)
        except (msgspec.DecodeError, OSError) as error:
            print(f"{path} is no record of a bench ({error}); remove it", file=sys.stderr)
            continue
        found |= {name: (record.date, figure) for name, figure in record.figures.items()}
    return found


def records_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "koordpy" / "bench"
