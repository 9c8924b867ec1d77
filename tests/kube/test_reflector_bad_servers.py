"""List and watch on servers, and proxies before them, that send malformed answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import REGISTRY

from koordpy.kube.client import Client
from koordpy.kube.watch import reflector as module
from tests.kube.world import CUT, HANG, Scripted, Sink, line, plain_pod, reflecting

pytestmark = pytest.mark.looptime

MALFORMED = {"containers": 7}
EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


async def _told(script: Scripted, seconds: float = 10) -> Sink:
    sink = Sink()
    async with reflecting(Client(script), sink):
        await asyncio.sleep(seconds)
    return sink


async def test_410_inside_the_watch_lists_again_and_delivers_the_difference() -> None:
    lists = [[plain_pod("a"), plain_pod("b")], [plain_pod("b"), plain_pod("c")]]
    script = Scripted(lists, [[line("ERROR", EXPIRED)], [HANG]])
    sink = await _told(script)
    assert script.listed == 2
    assert [call[:2] for call in sink.calls] == [
        ("upsert", "default/a"), ("upsert", "default/b"), ("upsert", "default/c"), ("remove", "default/a"),
    ]  # fmt: skip


async def test_another_error_inside_the_watch_resumes_without_a_list() -> None:
    error = {"kind": "Status", "code": 500, "reason": "InternalError", "message": "etcd is unhappy"}
    first = [line("ADDED", plain_pod("a", version=1001)), line("ERROR", error)]
    script = Scripted([[]], [first, [line("ADDED", plain_pod("b", version=1002)), HANG]])
    sink = await _told(script)
    assert sink.names == ["a", "b"]
    assert script.listed == 1
    assert "resourceVersion=1001" in script.requests[-1]


@pytest.mark.parametrize(("kind", "told"), [("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "b"), ("BOOKMARK", "a")])
async def test_what_is_older_than_the_list_changes_nothing(kind: str, told: str) -> None:
    """Such as from the cache of an API server that lags behind the one that answered the list."""
    first = [line(kind, plain_pod(told, version=7))]
    script = Scripted([[plain_pod("a", version=900)]], [first, [line("ADDED", plain_pod("c", version=1002)), HANG]])
    sink = await _told(script)
    assert [call[:2] for call in sink.calls] == [("upsert", "default/a"), ("upsert", "default/c")]
    assert "resourceVersion=7" not in script.requests[-1]


async def test_a_line_that_is_not_json_ends_the_watch_and_it_is_resumed() -> None:
    first = [line("ADDED", plain_pod("a", version=1001)) + b"<html>\n"]
    script = Scripted([[]], [first, [line("ADDED", plain_pod("b", version=1002)), HANG]])
    sink = await _told(script)
    assert sink.names == ["a", "b"]
    assert "resourceVersion=1001" in script.requests[-1]


async def test_a_line_that_is_not_unicode_ends_the_watch_and_it_is_resumed() -> None:
    script = Scripted(
        [[]], [[b'{"type": "\xff", "object": {}}\n'], [line("ADDED", plain_pod("a", version=1001)), HANG]]
    )
    assert (await _told(script)).names == ["a"]


_DEEP = b'{"x":' + b"[" * 100_000


async def test_a_line_that_nests_too_deeply_ends_the_watch_and_it_is_resumed() -> None:
    script = Scripted(
        [[]], [[b'{"type": "ADDED", "object": ' + _DEEP + b"\n"], [line("ADDED", plain_pod("a", version=1001)), HANG]]
    )
    assert (await _told(script)).names == ["a"]


async def test_a_list_that_nests_too_deeply_is_trouble_and_not_the_end() -> None:
    assert (await _told(Scripted([_DEEP, [plain_pod("a")]], [[HANG]]))).names == ["a"]


async def test_a_line_that_is_too_long_ends_the_watch_and_it_is_resumed(monkeypatch) -> None:
    monkeypatch.setattr(module, "_MOST_LINE", 10_000)
    read = 0

    def endless() -> Iterator[bytes]:
        nonlocal read
        while True:
            read += 1000
            yield b"x" * 1000

    script = Scripted([[]], [endless(), [line("ADDED", plain_pod("a", version=1001)), HANG]])
    assert (await _told(script)).names == ["a"]
    assert read == 11_000


async def test_lines_may_arrive_in_any_pieces() -> None:
    pods = b"".join(line("ADDED", plain_pod(name, version=1001 + n)) for n, name in enumerate("abc"))
    script = Scripted([[]], [[pods[i : i + 7] for i in range(0, len(pods), 7)] + [HANG]])
    assert (await _told(script)).names == ["a", "b", "c"]


async def test_a_list_that_is_not_json_is_trouble_and_not_the_end() -> None:
    script = Scripted([b"<html>please log in</html>", [plain_pod("a")]], [[HANG]])
    assert (await _told(script)).names == ["a"]


async def test_a_malformed_object_is_counted_and_skipped_and_the_watch_goes_on(log) -> None:
    before = _malformed()
    chunks = [
        line("ADDED", plain_pod("bad", version=1001, **MALFORMED)) + line("ADDED", plain_pod("a", version=1002)),
        CUT,
    ]
    script = Scripted([[]], [chunks, [HANG]])
    sink = await _told(script)
    assert sink.names == ["a"]
    assert _malformed() == before + 1
    complaint = next(entry for entry in log if entry["event"] == "malformed_object")
    assert complaint["object"] == "default/bad"
    assert "containers" in complaint["problem"]


async def test_a_watch_resumes_after_a_malformed_object_and_not_before_it() -> None:
    script = Scripted([[]], [[line("ADDED", plain_pod("bad", version=1007, **MALFORMED)), CUT], [HANG]])
    await _told(script)
    assert "resourceVersion=1007" in script.requests[-1]


async def test_a_malformed_object_in_a_list_is_skipped() -> None:
    script = Scripted([[plain_pod("bad", **MALFORMED), plain_pod("a")]], [[HANG]])
    assert (await _told(script)).names == ["a"]


async def test_an_object_that_became_malformed_keeps_its_place_until_it_is_gone() -> None:
    """A running pod whose newest version cannot be read still takes up its room."""
    ill = plain_pod("a", version=1002, **MALFORMED)
    script = Scripted([[plain_pod("a")], [ill]], [[line("MODIFIED", ill), line("ERROR", EXPIRED)], [HANG]])
    assert (await _told(script)).names == ["a"]
    script = Scripted([[plain_pod("a")]], [[line("MODIFIED", ill), line("DELETED", ill), HANG]])
    assert (await _told(script)).names == []


async def test_an_object_without_metadata_does_no_harm() -> None:
    script = Scripted([[]], [[line("ADDED", {}), line("ADDED", plain_pod("a", version=1001)), HANG]])
    assert (await _told(script)).names == ["a"]


async def test_a_version_that_was_delivered_is_not_delivered_again() -> None:
    script = Scripted([[plain_pod("a", version=5)]], [[line("ADDED", plain_pod("a", version=5)), HANG]])
    assert len((await _told(script)).calls) == 1


@pytest.mark.parametrize("answer", [[], 410, [line("ERROR", EXPIRED)], [CUT], 503])
async def test_a_watch_that_ends_at_once_is_reopened_with_back_off(answer: Any) -> None:
    script = Scripted([[]], [answer])
    await _told(script, seconds=300)
    assert 10 < len(script.requests) < 60


def _malformed() -> float:
    return REGISTRY.get_sample_value("koordpy_malformed_objects_total", {"kind": "Pod"}) or 0.0
