"""Parses the bytes of a connection into answers. It opens no sockets.

llhttp, the parser of Node.js, parses strictly (through httptools): a chunk size of `-6`, a Content-Length of `1_0` or
two of them are errors, where Python's `int` would accept a number. llhttp sets no limits, so these are here: whatever a
peer sends, an `AnswerParser` ends with an answer or with `NotHttp`, and holds no more than the limits below. The caller
closes the connection after `NotHttp`.

A hand-written parser that found the length of the usual answer with one regular expression was slower: 3.1 us for an
answer to a bind of 0.5 to 4 KB (2.7 us here), 5.6 us for any other answer (2.6 us), 0.7 to 3.3 us for a line of a watch
(0.1 to 0.4 us).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

# Consecutive bytes without a body: a head, the line before a chunk, trailers. Go's client accepts 10 MB of head;
# kube-apiserver sends half a kilobyte. The limit is checked at the end of a read, which is 256 KB at most.
MOST_OVERHEAD = 64 * 1024
MOST_FIELDS = 256  # distinct header names of a head


class BrokenConnection(OSError):
    """The connection ended before the answer was complete."""


class NotHttp(ValueError):
    """The peer sent bytes that are not HTTP, or exceed a limit."""


class Head(NamedTuple):
    """The head of an answer."""

    status: int
    retry_after: str | None = None
    ends_with_connection: bool = False  # the body has neither a length nor chunks


class AnswerParser:
    """Parses one answer after another, each after a request. `most` limits the bytes of one answer."""

    def __init__(self, most: float = math.inf) -> None:
        self._most = most
        self._fields: dict[bytes, bytes] = {}
        self.parts: list[bytes] = []  # of the body; the reader removes them
        self.start_over()
        # llhttp calls these for each header and each part: methods written in C save half of the time.
        self.on_header = self._fields.__setitem__
        self.on_body = self.parts.append
        self._llhttp = HttpResponseParser(self)

    def start_over(self) -> None:
        """Reset for the next answer on this connection."""
        self.head: Head | None = None
        self.has_ended = False
        self.can_go_on = False  # after the end: the connection is keep-alive
        self._fed = self._overhead = 0
        self._fields.clear()
        self.parts.clear()

    def feed(self, data: memoryview | bytes) -> None:
        """Parse received bytes; raises NotHttp. Bytes after the end of an answer are dropped."""
        before = len(self.parts)
        try:
            self._llhttp.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self.can_go_on = False
            if self.has_ended:
                return
            ours = error.__context__
            raise NotHttp(str(ours if isinstance(ours, NotHttp) else error)) from None
        self._fed += len(data)
        pieces = len(self.parts) - before
        self._overhead = 0 if pieces else self._overhead + len(data)
        if pieces > 1:  # a part of two bytes takes 40 in memory
            self.parts[before:] = [b"".join(self.parts[before:])]
        if self._overhead > MOST_OVERHEAD:
            raise NotHttp(f"over {MOST_OVERHEAD} bytes of headers, chunk sizes or trailers")
        if self._fed > self._most:
            raise NotHttp(f"an answer of over {self._most} bytes")

    # --- called by llhttp ---

    def on_message_begin(self) -> None:
        if self.has_ended:
            raise NotHttp("an answer to a request that was not made")

    def on_headers_complete(self) -> None:
        status = self._llhttp.get_status_code()
        if status < 100:
            raise NotHttp(f"a status of {status}")
        if len(self._fields) > MOST_FIELDS:
            raise NotHttp(f"over {MOST_FIELDS} headers")
        if status >= 200:  # otherwise the final answer follows
            self.head = self._head(status)

    def on_message_complete(self) -> None:
        if self.head is None:
            self._fields.clear()
        else:
            self.has_ended = True
            self.can_go_on = self._llhttp.should_keep_alive()

    def _head(self, status: int) -> Head:
        if status < 300 and self._llhttp.should_keep_alive():
            return Head(status)  # no other header matters
        fields = {name.lower(): value for name, value in self._fields.items()}
        retry_after = fields.get(b"retry-after")
        is_chunked = fields.get(b"transfer-encoding", b"").lower().rpartition(b",")[2].strip() == b"chunked"
        has_no_body = status in (204, 304)
        return Head(
            status,
            retry_after=retry_after.decode("latin-1") if retry_after is not None else None,
            ends_with_connection=not (is_chunked or has_no_body or b"content-length" in fields),
        )
