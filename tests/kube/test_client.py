"""One policy of what is tried again, and a guard before every single attempt."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.kube.client import NotLeading
from koordpy.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    error_of,
)
from koordpy.sim.embedded.faults import Fault, Rule
from tests.builders import pod_json
from tests.kube.world import PODS, World, now, until

pytestmark = pytest.mark.looptime


async def test_a_write_is_retried_on_transient_failures() -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.STATUS, status=503))
        world.faults.add(Rule(Fault.DROP))
        world.faults.add(Rule(Fault.STATUS, status=429))
        await world.client.write("POST", PODS, pod_json("a"))
        assert len(world.requests) == 4
        assert (await world.get("a"))["metadata"]["name"] == "a"


async def test_a_write_is_given_up_after_its_attempts_with_the_last_error() -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.STATUS, status=500, count=None))
        with pytest.raises(Unavailable, match=f"POST {PODS}: 500 injected fault"):
            await world.client.write("POST", PODS, pod_json("a"), attempts=3)
        assert len(world.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 422])
async def test_a_permanent_failure_is_not_retried(status: int) -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.STATUS, status=status, count=None))
        with pytest.raises(ApiError) as caught:
            await world.client.write("POST", PODS, pod_json("a"))
        assert caught.value.status == status
        assert len(world.requests) == 1


async def test_a_retry_waits_for_the_retry_after_of_the_server() -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.STATUS, status=429, retry_after=7))
        await world.client.write("POST", PODS, pod_json("a"))
        assert now() >= 7


async def test_every_call_ends_in_time_though_the_server_never_answers() -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.DELAY, seconds=1e9, count=None))
        for call in (world.client.get(PODS), world.client.write("POST", PODS, {}, attempts=1)):
            before = now()
            with pytest.raises(Unavailable, match="no answer in time"):
                await call
            assert now() - before <= 10.1
        before = now()
        with pytest.raises(Unavailable):
            await world.client.page(PODS)
        assert now() - before <= 60.1


async def test_the_guard_is_asked_before_the_first_attempt_and_nothing_is_sent() -> None:
    async with World() as world:
        with pytest.raises(NotLeading, match=f"POST {PODS}: not sent"):
            await world.client.guarded_by(lambda: False).write("POST", PODS, pod_json("a"))
        assert world.requests == []


async def test_the_guard_is_asked_again_before_every_retry() -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.STATUS, status=503, count=None))
        leads = [True]
        guarded = world.client.guarded_by(lambda: leads[0])
        writing = asyncio.create_task(guarded.write("POST", PODS, pod_json("a")))
        await until(lambda: len(world.requests) == 2, step=0.01)
        leads[0] = False
        with pytest.raises(NotLeading):
            await writing
        assert len(world.requests) == 2


async def test_the_guard_does_not_apply_to_reads() -> None:
    async with World() as world:
        await world.create("a")
        assert b'"a"' in await world.client.guarded_by(lambda: False).get(f"{PODS}/a")


async def test_a_patient_get_outlasts_an_outage_and_raises_not_found() -> None:
    async with World() as world:
        await world.create("a")
        rule = world.faults.add(Rule(Fault.DROP, count=None))
        asking = asyncio.create_task(world.client.get_patiently(f"{PODS}/a"))
        await asyncio.sleep(1000)
        assert not asking.done()
        rule.count = 0
        assert b'"a"' in await asking
        with pytest.raises(NotFound):
            await world.client.get_patiently(f"{PODS}/b")


async def test_a_page_carries_what_the_next_one_needs() -> None:
    async with World() as world:
        for name in ("a", "b", "c"):
            await world.create(name)
        first = await world.client.page(PODS, limit=2)
        second = await world.client.page(PODS, limit=2, **{"continue": first.metadata.continue_})
        assert [len(first.items), len(second.items)] == [2, 1]
        assert second.metadata.continue_ == ""


async def test_two_writes_do_not_retry_in_step() -> None:
    """Half of each delay is jitter: a thousand clients refused at once must not retry at once."""
    async with World() as world:
        world.faults.add(Rule(Fault.STATUS, status=503, count=2))
        await asyncio.gather(*(world.client.write("POST", PODS, pod_json(name)) for name in ("a", "b")))
        first, second = sorted(at for at, _, _ in world.requests)[2:]
        assert first != second


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "BadRequest", Invalid),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (405, "MethodNotAllowed", Invalid),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", Gone),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", Unavailable),
        (504, "Timeout", Unavailable),
    ],
)
def test_each_refusal_has_a_type_of_its_own(status: int, reason: str, kind: type[ApiError]) -> None:
    body = b'{"reason": "%s", "message": "because"}' % reason.encode()
    error = error_of("GET", "/x", status, body, "3")
    assert type(error) is kind
    assert str(error) == f"GET /x: {status} because"
    assert error.retry_after == 3


def test_a_proxy_that_answers_in_the_servers_place_is_quoted() -> None:
    assert str(error_of("GET", "/x", 502, b"Bad Gateway\n")) == "GET /x: 502 Bad Gateway"


def test_a_retry_after_that_is_a_date_is_ignored() -> None:
    assert error_of("GET", "/x", 429, b"{}", "Wed, 21 Oct 2026 07:28:00 GMT").retry_after is None


@pytest.mark.parametrize("value", ["\xb2", "-1", "1e9", "1_0", ""])
def test_a_retry_after_that_is_no_number_is_ignored(value: str) -> None:
    assert error_of("GET", "/x", 429, b"{}", value).retry_after is None


@pytest.mark.parametrize("value", ["86400", "9" * 400])
def test_a_retry_after_of_days_is_five_minutes(value: str) -> None:
    assert error_of("GET", "/x", 429, b"{}", value).retry_after == 300
