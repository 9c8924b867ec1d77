"""What the lanes say of themselves: whoever could wait asks them."""

from __future__ import annotations

from koordpy.scheduler.execute.lanes import Lanes


async def call() -> None:
    """A write to the API server."""


async def test_pods_are_being_bound_from_the_first_call_that_waits_on():
    lanes = Lanes.build(1)
    assert not lanes.are_binding
    lanes.binds.put(call)
    assert lanes.are_binding
    lanes.binds.clear()
    assert not lanes.are_binding


async def test_events_and_conditions_bind_nobody():
    lanes = Lanes.build(1)
    lanes.reports.put(call)
    lanes.scheduled_events.put(call)
    assert not lanes.are_binding
