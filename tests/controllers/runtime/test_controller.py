"""What becomes of a key after its reconcile: whatever a reconcile raises, it is tried again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest
from structlog.testing import capture_logs

from koordpy.controllers.runtime.controller import Controller
from koordpy.controllers.runtime.workqueue import WorkQueue
from koordpy.kube.client import NotLeading
from koordpy.kube.errors import Conflict, Forbidden, Invalid, TooManyRequests, Unauthorized, Unavailable
from tests.controllers.world import now

pytestmark = pytest.mark.looptime

ERRORS = {
    "a mistake of ours": RuntimeError("as ordered"),
    "a time limit": TimeoutError(),
    "not leading": NotLeading("not sent"),
    "conflict": Conflict("changed meanwhile", status=409),
    "forbidden": Forbidden("no permission", status=403),
    "unauthorized": Unauthorized("no credentials", status=401),
    "too many requests": TooManyRequests("later", status=429),
    "unavailable": Unavailable("no answer"),
}


class FakeReconciler:
    """Remembers what it was asked for; raises `errors`, one for each call, before it succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls: list[tuple[float, str]] = []

    @property
    def keys(self) -> list[str]:
        return [key for _, key in self.calls]

    async def reconcile(self, key: str) -> float:
        self.calls.append((now(), key))
        await asyncio.sleep(0.01)
        if self.errors:
            raise self.errors.pop(0)
        return 0.2


def controller_of(
    reconciler: FakeReconciler, all_keys: Callable[[], list[str]] = lambda: ["a"], workers: int = 2, **given: float
) -> tuple[Controller[str], WorkQueue[str]]:
    queue: WorkQueue[str] = WorkQueue()
    synced = asyncio.Event()
    synced.set()
    controller = Controller("podgroup", reconciler, queue, synced=synced, all_keys=all_keys, workers=workers, **given)
    return controller, queue


@contextlib.asynccontextmanager
async def leading(controller: Controller[str]) -> AsyncIterator[None]:
    """Until leadership is lost; what the controller dies of fails the test."""
    task = asyncio.ensure_future(controller.run())
    await asyncio.sleep(0)
    try:
        yield
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_every_known_object_is_reconciled_when_the_controller_starts_to_lead():
    reconciler = FakeReconciler()
    controller, _ = controller_of(reconciler, lambda: ["a", "b", "c"])
    async with leading(controller):
        await asyncio.sleep(60)
    assert sorted(reconciler.keys) == ["a", "b", "c"]


@pytest.mark.parametrize("error", ERRORS)
async def test_a_reconcile_that_raised_is_tried_again_until_it_succeeds(error):
    reconciler = FakeReconciler(*[ERRORS[error]] * 4)
    controller, _ = controller_of(reconciler)
    async with leading(controller):
        await asyncio.sleep(600)
    assert reconciler.keys == ["a"] * 5


async def test_a_retry_waits_for_as_long_as_the_api_server_asks():
    reconciler = FakeReconciler(TooManyRequests("later", status=429, retry_after=20.0))
    controller, _ = controller_of(reconciler)
    async with leading(controller):
        await asyncio.sleep(20)
        assert len(reconciler.calls) == 1
        await asyncio.sleep(1)
        assert len(reconciler.calls) == 2


async def test_a_request_that_is_refused_is_tried_again_after_minutes_or_when_the_object_changes():
    reconciler = FakeReconciler(*[Invalid("wrong in itself", status=422)] * 3)
    controller, queue = controller_of(reconciler)
    async with leading(controller):
        await asyncio.sleep(299)
        assert len(reconciler.calls) == 1
        await asyncio.sleep(5)
        assert len(reconciler.calls) == 2
        await asyncio.sleep(10)
        queue.add("a")
        await asyncio.sleep(1)
        assert len(reconciler.calls) == 3
        await asyncio.sleep(299)
        assert len(reconciler.calls) == 3
        await asyncio.sleep(10000)
        assert len(reconciler.calls) == 4


async def test_a_controller_that_others_wait_for_repeats_a_refused_request_sooner():
    reconciler = FakeReconciler(Invalid("wrong in itself", status=422))
    controller, _ = controller_of(reconciler, requeue_refused_s=30.0)
    async with leading(controller):
        await asyncio.sleep(29)
        assert len(reconciler.calls) == 1
        await asyncio.sleep(5)
        assert len(reconciler.calls) == 2


async def test_a_refusal_is_one_line_in_the_log_for_each_object_and_reason():
    reconciler = FakeReconciler(*[Invalid("one", status=422)] * 3, *[Invalid("another", status=422)] * 3)
    controller, _ = controller_of(reconciler)
    with capture_logs() as lines:
        async with leading(controller):
            await asyncio.sleep(3000)
    assert [(line["object"], line["problem"]) for line in lines if line["event"] == "podgroup_status_refused"] == [
        ("a", "one"),
        ("a", "another"),
    ]


async def test_a_reconcile_that_raised_is_tried_again_while_other_keys_change():
    reconciler = FakeReconciler(RuntimeError("as ordered"))
    controller, queue = controller_of(reconciler, workers=1)
    async with leading(controller):
        for _ in range(100):
            queue.add("b")
            await asyncio.sleep(0.1)
    assert reconciler.keys.count("a") == 2
    assert reconciler.keys.count("b") > 10


async def test_a_reconcile_that_raised_is_not_lost_when_leadership_changes():
    reconciler = FakeReconciler(RuntimeError("as ordered"))
    controller, _ = controller_of(reconciler)
    async with leading(controller):
        await asyncio.sleep(0.15)
    assert reconciler.keys == ["a"]
    async with leading(controller):
        await asyncio.sleep(60)
    assert reconciler.keys == ["a", "a"]


async def test_the_back_off_of_an_earlier_leadership_does_not_delay_the_next():
    reconciler = FakeReconciler(*[RuntimeError("as ordered")] * 10)
    controller, _ = controller_of(reconciler)
    async with leading(controller):
        await asyncio.sleep(100)
    reconciler.errors[1:] = []
    reconciler.calls.clear()
    began = now()
    async with leading(controller):
        await asyncio.sleep(100)
    assert [round(at - began, 1) for at, _ in reconciler.calls[:1]] == [0.1]
    assert reconciler.calls[1][0] - reconciler.calls[0][0] < 0.6


async def test_a_reconcile_under_way_when_leadership_is_lost_is_made_again_by_the_next_leader():
    reconciler = FakeReconciler()
    controller, _ = controller_of(reconciler)
    async with leading(controller):
        await asyncio.sleep(0.105)
    async with leading(controller):
        await asyncio.sleep(60)
    assert reconciler.keys == ["a", "a"]


async def test_trouble_ends_when_no_key_fails_any_more():
    reconciler = FakeReconciler(Forbidden("no permission", status=403))
    controller, _ = controller_of(reconciler)
    async with leading(controller):
        await asyncio.sleep(0.15)
        assert controller.trouble == "Forbidden: no permission"
        await asyncio.sleep(60)
        assert controller.trouble == ""


async def test_trouble_ends_with_leadership():
    reconciler = FakeReconciler(Forbidden("no permission", status=403))
    controller, _ = controller_of(reconciler)
    async with leading(controller):
        await asyncio.sleep(0.15)
        assert controller.trouble
    assert controller.trouble == ""


async def test_no_worker_is_lost_to_a_mistake_of_ours():
    reconciler = FakeReconciler(*[RuntimeError("as ordered")] * 10)
    controller, queue = controller_of(reconciler, workers=2)
    async with leading(controller):
        await asyncio.sleep(600)
        queue.add("b")
        queue.add("c")
        await asyncio.sleep(1)
    assert sorted(reconciler.keys[-2:]) == ["b", "c"]


async def test_nothing_is_reconciled_before_everything_is_listed():
    reconciler = FakeReconciler()
    controller, _ = controller_of(reconciler)
    controller._synced.clear()
    async with leading(controller):
        await asyncio.sleep(60)
        assert reconciler.keys == []
        controller._synced.set()
        await asyncio.sleep(1)
    assert reconciler.keys == ["a"]
