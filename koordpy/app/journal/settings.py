"""Settings of the journal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class JournalSettings:
    """Where the journal is, and how large it gets: at most twice the product of the two sizes."""

    directory: Path
    config: str | None = None  # the text of the configuration file, for the replay
    file_bytes: int = 256 * 2**20  # from which on a new file is begun at the next good moment
    files: int = 4
