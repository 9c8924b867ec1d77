"""What tests of this room ask for."""

from collections.abc import Iterator
from typing import Any

import pytest
import structlog


@pytest.fixture
def log() -> Iterator[list[Any]]:
    """The log entries of this test."""
    with structlog.testing.capture_logs() as entries:
        yield entries
