"""How bytes come in: into one buffer that all connections share.

Whoever receives takes them out at once, so that nobody else ever finds them there. Without a buffer of ours, the event
loop makes a quarter of a megabyte of memory for each record of TLS and gives it back, which is half of the system time
that a bind costs.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod

_SHARED = memoryview(bytearray(256 * 1024))


class Receiving(asyncio.BufferedProtocol):
    """A protocol that is told what was received."""

    @abstractmethod
    def received(self, data: memoryview) -> None:
        """Take these bytes; they are not there any more when this returns."""

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - it is large enough for everybody
        return _SHARED

    def buffer_updated(self, nbytes: int) -> None:
        self.received(_SHARED[:nbytes])
