"""Pods of a replayed trace complete when their run time is over, and not before their gang is fully bound."""

from bench.live.completions import Completions
from bench.live.objects import Gang


class FakeObserver:
    """An observer with given binds."""

    def __init__(self, **bound: float) -> None:
        self.bound = dict(bound)


class RecordingClient:
    """A client that records deletions."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    async def delete(self, resource: str, name: str, *, grace: int):
        assert (resource, grace) == ("pods", 0)
        self.deleted.append(name)


async def test_a_fully_bound_gang_is_deleted_and_one_in_part_or_without_a_run_time_stays():
    observer = FakeObserver(**{"a-0000": 0.0, "a-0001": 0.0, "b-0000": 0.0, "c-0000": 0.0})
    client = RecordingClient()
    gangs = [Gang("a", 2, lasts=0.0), Gang("b", 2, lasts=0.0), Gang("c", 1)]
    async with Completions(client, observer, gangs) as completions:
        await completions.wait_completed()
    assert sorted(client.deleted) == sorted(completions.completed) == ["a-0000", "a-0001"]
