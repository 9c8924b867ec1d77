"""Receives bytes into one buffer that all connections share.

A protocol consumes them in the callback, so no other connection ever sees them. Without this buffer the event loop
allocates and frees a quarter of a megabyte for each TLS record, which is half of the system time of a bind.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod

_SHARED = memoryview(bytearray(256 * 1024))


class Receiving(asyncio.BufferedProtocol):
    """A protocol that consumes received bytes at once."""

    @abstractmethod
    def received(self, data: memoryview) -> None:
        """Consume these bytes; they are invalid after this returns."""

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the buffer is large enough
        return _SHARED

    def buffer_updated(self, nbytes: int) -> None:
        self.received(_SHARED[:nbytes])
