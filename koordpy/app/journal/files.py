"""The files of a journal: lines of JSON, each file with a head; the oldest are deleted when there are too many.

A process that is killed leaves a line half written at the end. That is no error.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

import msgspec
import structlog

from koordpy import __version__

FORMAT = 1
_NAME = re.compile(r"journal-(\d{8})\.jsonl")
_BUFFER = 2**18

log = structlog.get_logger()


class BadJournal(Exception):
    """The directory or file cannot be used; `str()` is one line."""


class Head(msgspec.Struct, frozen=True, rename="camel"):
    """The first line of a file."""

    journal: int
    koordpy: str
    python: str
    hash_seed: str
    instance: str
    config: str | None = None  # the text of the configuration file


def head_of(instance: str, config: str | None) -> Head:
    """For a file of this process."""
    return Head(FORMAT, __version__, platform.python_version(), hash_seed(), instance, config)


def hash_seed() -> str:
    """Of this process. The order of sets depends on it; empty where it is random."""
    seed = os.environ.get("PYTHONHASHSEED", "")
    return seed if seed.isdigit() else ""


class JournalFile:
    """A file that is being written. After an error of the disk nothing more is written, and nobody else notices.

    Its size grows even then, so that a next file is tried.
    """

    def __init__(self, path: Path, head: Head) -> None:
        self._path, self.size, self._on_disk = path, 0, 0
        self._lines: list[bytes] = []
        self._out: FileIO | None = None
        try:
            self._out = path.open("xb", buffering=0)
        except OSError as error:
            self._broke(error)
        self.write(msgspec.json.encode(head))

    def write(self, line: bytes) -> None:
        self._lines.append(line)
        self.size += len(line) + 1
        if self.size - self._on_disk >= _BUFFER:
            self.flush()

    def flush(self) -> None:
        text = memoryview(b"\n".join([*self._lines, b""]))
        self._lines, self._on_disk = [], self.size
        try:
            while self._out is not None and text:
                text = text[self._out.write(text) :]
        except OSError as error:
            self._broke(error)

    def close(self) -> None:
        self.flush()
        if self._out is not None:
            self._out.close()
            self._out = None

    def _broke(self, error: OSError) -> None:
        log.error("journal_failed", file=str(self._path), problem=error.strerror, hint="scheduling goes on")
        if self._out is not None:
            self._out.close()
            self._out = None


class Directory:
    """The files of one directory, and how many there may be."""

    def __init__(self, path: Path, most_files: int) -> None:
        self._path, self._most = path, most_files
        try:
            path.mkdir(parents=True, exist_ok=True)
            files_in(path)
        except OSError as error:
            raise BadJournal(f"{path}: {error.strerror}") from None
        if not os.access(path, os.W_OK):
            raise BadJournal(f"{path}: no file can be written there")

    def next_file(self, head: Head) -> JournalFile:
        """A new file; the oldest make room for it."""
        try:
            found = files_in(self._path)
        except OSError:  # somebody took the directory away, which the new file will say
            found = []
        number = _number(found[-1]) + 1 if found else 1
        for old in found[: max(0, len(found) - self._most + 1)]:
            with suppress(OSError):
                old.unlink()
        return JournalFile(self._path / f"journal-{number:08}.jsonl", head)


def files_in(path: Path) -> list[Path]:
    """Oldest first."""
    return sorted(each for each in path.iterdir() if _NAME.fullmatch(each.name))


def _number(path: Path) -> int:
    found = _NAME.fullmatch(path.name)
    assert found is not None
    return int(found[1])


def read_head(path: Path) -> Head:
    try:
        with path.open("rb") as lines:
            head = msgspec.json.decode(lines.readline(), type=Head)
    except OSError as error:
        raise BadJournal(f"{path}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadJournal(f"{path}: not a file of a journal") from None
    if head.journal != FORMAT:
        raise BadJournal(f"{path}: format {head.journal}, and this koordpy reads format {FORMAT}")
    return head


def read_entries(path: Path) -> Iterator[tuple[int, list[Any]]]:
    """Every whole line after the head, with its number; a last one without an end was never finished."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if number == 1 or not line.endswith(b"\n"):
                continue
            try:
                entry = msgspec.json.decode(line, type=list[Any])
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise BadJournal(f"{path}, line {number}: not an entry of a journal") from None
            yield number, entry
