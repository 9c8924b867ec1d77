"""The observer: records when pods are bound and deleted, in a process of its own, which only watches.

It is neither the scheduler, which must not report on itself, nor the process that creates the pods, which is too busy
to read the clock in time. `python -m bench.live.observer URL CA NAMESPACE` writes `watching`, then for each pod that
it sees bound a line `+ NAME SECONDS NODE`, and for each bound one that goes `- NAME SECONDS NODE`. The seconds are of
the monotonic clock that all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self

import aiohttp
import msgspec

from tests.controlplane.certificates import trusting
from tests.controlplane.server import ADMIN_TOKEN

BOUND = "spec.nodeName!="
START_SECONDS = 30


class Observer:
    """The process, as the bench sees it: `async with Observer(...) as observer`."""

    def __init__(self, url: str, ca_path: Path, namespace: str) -> None:
        self._arguments = (url, str(ca_path), namespace)
        self.bound: dict[str, float] = {}  # pod -> when it was seen bound
        self.gone: dict[str, float] = {}  # pod -> when it was seen to be gone, having been bound
        self.node_of: dict[str, str] = {}  # of every pod that was seen bound
        self.events: list[tuple[str, str]] = []  # ("+" or "-", pod), in the order in which the API server wrote them

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bench.live.observer", *self._arguments, stdout=asyncio.subprocess.PIPE
        )
        assert self._process.stdout is not None
        self._lines = self._process.stdout
        async with asyncio.timeout(START_SECONDS):
            await self._lines.readline()
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        await self._process.wait()
        await self._reading

    @property
    def running(self) -> bool:
        return not self._reading.done()

    async def _read(self) -> None:
        async for line in self._lines:
            sign, name, seconds, self.node_of[name] = line.decode().split()
            (self.bound if sign == "+" else self.gone)[name] = float(seconds)
            self.events.append((sign, name))


# --- in its own process ---


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    annotations: dict[str, str] = {}
    resourceVersion: str = ""  # noqa: N815 - as in the API


class _Spec(msgspec.Struct, frozen=True):
    nodeName: str = ""  # noqa: N815


class Watched(msgspec.Struct, frozen=True):
    metadata: _Named = _Named()
    spec: _Spec = _Spec()


class Event(msgspec.Struct, frozen=True):
    type: str
    object: Watched


_SIGNS = {"ADDED": "+", "DELETED": "-"}
_decode_event = msgspec.json.Decoder(Event).decode


async def main(url: str, ca_path: str, namespace: str) -> None:
    async with session_to(url, ca_path) as session:
        path = f"/api/v1/namespaces/{namespace}/pods"
        async with session.get(path, params={"fieldSelector": BOUND}) as answer:
            version = msgspec.json.decode(await answer.read(), type=Watched).metadata.resourceVersion
        print("watching", flush=True)
        while True:  # the API server ends the watch of a client that is too slow for it, as ours may be
            async for events in watch(session, path, version, BOUND):
                version = events[-1].object.metadata.resourceVersion
                now = time.monotonic()
                if seen := [_line(event, now) for event in events if event.type in _SIGNS]:
                    print("\n".join(seen), flush=True)


def _line(event: Event, now: float) -> str:
    return f"{_SIGNS[event.type]} {event.object.metadata.name} {now:.6f} {event.object.spec.nodeName}"


def session_to(url: str, ca_path: str) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        url,
        headers={"Authorization": f"Bearer {ADMIN_TOKEN}"},
        connector=aiohttp.TCPConnector(ssl=trusting(ca_path)),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=START_SECONDS),
        read_bufsize=2**20,
    )


async def watch(session: aiohttp.ClientSession, path: str, version: str, selector: str) -> AsyncIterator[list[Event]]:
    """Events of the selected pods: when a pod is bound, a watch of bound pods gets ADDED."""
    asked = {"fieldSelector": selector, "watch": "true", "resourceVersion": version, "timeoutSeconds": "3600"}
    async with session.get(path, params=asked) as answer:
        answer.raise_for_status()
        rest = b""
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            if lines:
                yield [_decode_event(line) for line in lines]


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
