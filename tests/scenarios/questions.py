"""Questions to the scheduler, and what people who ask look at first in the answers.

Stories that ask use the fixture `patient`: however slow the machine is, every change is tried.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tests.scenarios.world import World

Json = dict[str, Any]

API = "/apis/koordpy.io/v1alpha1"
JOBS, WHATIF = f"{API}/jobs", f"{API}/whatif"


async def jobs(world: World) -> list[Json]:
    """Everything that is pending."""
    await world.caught_up()
    status, answer = await world.http(JOBS)
    assert status == 200, answer
    assert (answer["apiVersion"], answer["kind"]) == ("koordpy.io/v1alpha1", "JobList")
    return answer["items"]


async def explained(world: World, name: str) -> Json:
    await world.caught_up()
    status, answer = await world.http(f"{JOBS}/{world.namespace}/{name}")
    assert status == 200, answer
    return answer


async def changes(world: World, name: str) -> dict[str, Json]:
    """What would start a job, by kind; of several of one kind, the first."""
    found: dict[str, Json] = {}
    for change in (await explained(world, name))["changes"]:
        found.setdefault(change["kind"], change)
    return found


async def state(world: World, name: str) -> tuple[str, str | None]:
    """Where a job stands, and the first thing in its way."""
    job = (await explained(world, name))["job"]
    return job["state"], job["reason"]


async def in_the_way(world: World, name: str, kind: str) -> list[Json]:
    return [each for each in (await explained(world, name))["inTheWay"] if each["kind"] == kind]


async def expected_start(world: World, name: str) -> Json:
    """The list and the explanation agree on it."""
    (listed,) = (job for job in await jobs(world) if job["name"] == name)
    assert (await explained(world, name))["job"]["expectedStart"] == listed["expectedStart"]
    return listed["expectedStart"]


async def what_if(world: World, *objects: Json, query: str = "", status: int = 200) -> Json:
    body = msgspec.json.encode(list(objects)) if objects else b""
    await world.caught_up()
    found, answer = await world.http(f"{WHATIF}?{query}" if query else WHATIF, body)
    assert found == status, answer
    return answer
