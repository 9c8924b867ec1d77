"""Somebody who asks koordpy what if, again and again, as fast as answers come: do binds become slower by it?

`python -m bench.live.asking PORT` runs beside the scheduler, and ends when it is told to, or after two minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys

import aiohttp

from bench.live.manifests import koordinator
from bench.live.objects import Gang

PORT = 18251
ASKERS = 8
_AT_MOST_SECONDS = 120
_RETRY_SECONDS = 0.05  # the scheduler is not up yet
_QUESTION = json.dumps(
    {"apiVersion": "v1", "kind": "List", "items": list(koordinator(Gang("supposed", 8), "default").pods)}
)


async def main(port: int) -> None:
    url = f"http://127.0.0.1:{port}/apis/koordpy.io/v1alpha1/whatif"
    answers: list[int] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_AT_MOST_SECONDS), aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
            for _ in range(ASKERS):
                group.create_task(_ask(session, url, answers))
            group.create_task(_tell(answers))


async def _ask(session: aiohttp.ClientSession, url: str, answers: list[int]) -> None:
    while True:
        try:
            async with session.post(url, data=_QUESTION) as answer:
                await answer.read()
                answers.append(answer.status)
        except aiohttp.ClientError:
            await asyncio.sleep(_RETRY_SECONDS)


async def _tell(answers: list[int]) -> None:
    while True:
        await asyncio.sleep(1)
        print(f"{len(answers)} answers, {answers.count(200)} of them good", flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
