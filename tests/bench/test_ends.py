"""Pods of a replayed trace end when their time is over, and not before their gang is whole."""

from bench.live.ends import Ends
from bench.live.objects import Gang


class Seen:
    """An observer that has seen what the test says."""

    def __init__(self, **bound: float) -> None:
        self.bound = dict(bound)


class Deleting:
    """A client that remembers what it was asked to delete."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    async def delete(self, resource: str, name: str, *, grace: int):
        assert (resource, grace) == ("pods", 0)
        self.deleted.append(name)


async def test_a_whole_gang_ends_and_one_in_part_or_without_an_end_stays():
    observer = Seen(**{"a-0000": 0.0, "a-0001": 0.0, "b-0000": 0.0, "c-0000": 0.0})
    client = Deleting()
    gangs = [Gang("a", 2, lasts=0.0), Gang("b", 2, lasts=0.0), Gang("c", 1)]
    async with Ends(client, observer, gangs) as ends:
        await ends.all_ended()
    assert sorted(client.deleted) == sorted(ends.ended) == ["a-0000", "a-0001"]
