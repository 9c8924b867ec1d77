"""`koordpy jobs`, `explain` and `whatif`, and the same as a plugin of kubectl, on both API servers.

The commands are those of the command line from their arguments to their output. Only the way to the scheduler is
another one: the question goes to the server of the story, in its own loop.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
import yaml

from koordpy.app.process import CannotStart
from koordpy.cli import answers, answertables, asking, main
from tests.builders import pod_json
from tests.scenarios.objects import gang, members
from tests.scenarios.questions import API
from tests.scenarios.world import World

Koord = Callable[..., Awaitable[str]]


@pytest.fixture
def koord(monkeypatch: pytest.MonkeyPatch, patient: None) -> Callable[[World], Koord]:
    """`koord(world)("explain", "team/a")` returns what the command prints."""

    def of(world: World) -> Koord:
        printed = io.BytesIO()
        terminal = io.TextIOWrapper(printed, write_through=True)
        running: list[Coroutine[Any, Any, None]] = []
        show = answertables.show

        def shown(*given: Any) -> Any:
            with contextlib.redirect_stdout(terminal):
                return show(*given)

        @contextlib.asynccontextmanager
        async def scheduler(**_: str) -> AsyncIterator[Any]:
            async def ask(path: str, body: bytes | None) -> bytes:
                status, answer = await world.http(API + path, body)
                if status != 200:
                    raise CannotStart(answer["message"])
                return msgspec.json.encode(answer)

            yield ask

        monkeypatch.setattr(answertables, "show", shown)
        monkeypatch.setattr(asking, "scheduler", scheduler)
        monkeypatch.setattr(answers, "_run", running.append)

        async def run(*arguments: str) -> str:
            await world.caught_up()
            before = len(printed.getvalue())
            main(list(arguments), prog_name="kubectl koord", standalone_mode=False)
            await running.pop()
            return printed.getvalue()[before:].decode()

        return run

    return of


async def gang_waits(world: World) -> str:
    """Gang a needs three nodes, and there are two; returns its name."""
    await world.nodes(2, cpu=2)
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3), cpu=2)
    await world.says("a-1", "2 of 3 members fit")
    return f"{world.namespace}/a"


async def test_jobs_are_listed_with_their_place_and_why(world: World, koord: Callable[[World], Koord]) -> None:
    name = await gang_waits(world)
    heading, line = (await koord(world)("jobs")).splitlines()
    assert heading.split()[:3] == ["#", "JOB", "QUEUE"]
    assert line.split()[:6] == ["1", name, "-", "0", "Pending", "Resources"]
    assert "2 of 3 members fit" in line


async def test_nothing_that_is_pending_is_said(world: World, koord: Callable[[World], Koord]) -> None:
    assert await koord(world)("jobs") == "nothing is pending\n"


async def test_an_explanation_says_what_is_missing_and_what_would_help(
    world: World, koord: Callable[[World], Koord]
) -> None:
    text = await koord(world)("explain", await gang_waits(world))
    assert "Gang, Pending (Resources)" in text
    assert "members: 0 bound, 3 pending, 0 gated; 3 start together" in text
    assert "NodeAdded: 1 more node like n1 is added" in text
    assert "MinimumLowered: the minimum" in text


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
async def test_documents_are_those_of_the_server(
    world: World, koord: Callable[[World], Koord], output: str, read: Callable[[str], Any]
) -> None:
    name = await gang_waits(world)
    found = read(await koord(world)("explain", name, "-o", output))
    assert (found["kind"], found["job"]["name"]) == ("Explanation", "a")
    _, answer = await world.http(f"{API}/jobs/{name}")
    assert found["changes"] == answer["changes"]


async def test_a_job_that_does_not_exist_is_one_line(world: World, koord: Callable[[World], Koord]) -> None:
    with pytest.raises(CannotStart, match=f"job {world.namespace}/nobody not found"):
        await koord(world)("explain", f"{world.namespace}/nobody")


async def test_a_file_of_objects_is_asked_about(world: World, koord: Callable[[World], Koord], tmp_path: Path) -> None:
    await world.nodes(1, cpu=2)
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(pod_json("new", namespace=world.namespace, cpu=1)))
    text = await koord(world)("whatif", "-f", str(file))
    assert f"{world.namespace}/new  Now" in text
    assert f"{world.namespace}/new -> n1" in text


async def test_nodes_are_added_to_what_is_pending(world: World, koord: Callable[[World], Koord]) -> None:
    name = await gang_waits(world)
    assert f"{name}  Now" in await koord(world)("whatif", "--add-nodes", "1", "--like", "n1")


async def test_a_node_and_a_job_are_taken_away(world: World, koord: Callable[[World], Koord], tmp_path: Path) -> None:
    await world.nodes(2, cpu=1)
    await world.pods("old-1", "old-2", cpu=1)
    await world.bound("old-1", "old-2")
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(pod_json("new", namespace=world.namespace, cpu=1)))
    gone, run = ("--without-job", f"{world.namespace}/old-1"), koord(world)
    assert f"{world.namespace}/new  Now" in await run("whatif", "-f", str(file), *gone)
    (node,) = world.node_names("old-1")
    text = await run("whatif", "-f", str(file), *gone, "--without-node", node)
    assert f"{world.namespace}/new  Not now" in text


async def test_whom_a_job_would_evict_is_printed(world: World, koord: Callable[[World], Koord], tmp_path: Path) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("low", cpu=1)
    await world.bound("low")
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(pod_json("high", namespace=world.namespace, cpu=1, priority=1000)))
    text = click.unstyle(await koord(world)("whatif", "-f", str(file)))
    assert f"{world.namespace}/high  ByEvicting" in text
    assert f"evicts {world.namespace}/low (of {world.namespace}/low)" in text


async def test_a_file_that_cannot_be_used_is_named(
    world: World, koord: Callable[[World], Koord], tmp_path: Path
) -> None:
    file = tmp_path / "secret.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}))
    with pytest.raises(CannotStart, match="Secret default/s"):
        await koord(world)("whatif", "-f", str(file))
