"""Whose pods are created next, whatever else happens at the same time."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

import looptime
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from koordpy.api.decode import Decoder
from koordpy.api.queuejob import QueueJob
from koordpy.controllers.queuejob.creating import Creator
from koordpy.controllers.queuejob.effects import Steps
from koordpy.controllers.queuejob.index import QueueJobIndex
from koordpy.controllers.queuejob.names import Slot
from koordpy.controllers.queuejob.turns import Place, Wish, at_once, next_minimum, round_robin
from koordpy.kube.errors import Forbidden
from tests.controllers.queuejob.world import job, task


def wish(key: str, minimum: int, surplus: int = 0, *, priority: int = 0, created: str = "t", made: int = 0) -> Wish:
    slots = [Slot("w", index) for index in range(minimum + surplus)]
    return Wish(f"n/{key}", priority, created, tuple(slots[:minimum]), tuple(slots[minimum:]), made)


def order(*wishes: Wish, held: Collection[str] = ()) -> list[str]:
    """Whose pods are made, one after the other, until nobody may make any more."""
    left, made = list(wishes), []

    def may_be_made(key: str, _: Slot) -> bool:
        return key.removeprefix("n/") not in held

    while places := next_minimum(left, may_be_made):
        made += places
        left = [each._replace(minimum=()) if each.key == places[0].key else each for each in left]
    made += round_robin(left, may_be_made)
    return [each.key.removeprefix("n/") for each in made]


def test_minimums_come_first_by_priority_then_age():
    wishes = (
        wish("young", 1, created="2"),
        wish("low", 1, priority=-1),
        wish("old", 1, created="1"),
        wish("high", 2, priority=5),
    )
    assert order(*wishes) == ["high", "high", "old", "young", "low"]


def test_the_others_follow_in_round_robin():
    assert order(wish("a", 1, 3, priority=1), wish("b", 1, 2)) == ["a", "b", "a", "b", "a", "b", "a"]


def test_round_robin_goes_on_where_it_was_after_a_restart_of_the_controller():
    assert order(wish("a", 0, 2, priority=1, made=2), wish("b", 0, 3)) == ["b", "b", "a", "b", "a"]


def test_a_job_whose_minimum_is_held_back_does_not_hold_up_others():
    assert order(wish("a", 2, priority=9), wish("b", 1), held="a") == ["b"]


def test_a_job_that_lacks_its_minimum_gets_nothing_beyond_it():
    assert order(wish("a", 1, 2), wish("b", 0, 1), held="a") == ["b"]


wishes_of_jobs = st.lists(
    st.builds(
        lambda priority, created, surplus, made: (priority, created, surplus, made),
        st.integers(0, 2),
        st.sampled_from("12"),
        st.integers(0, 5),
        st.integers(0, 4),
    ),
    max_size=6,
)


@given(wishes_of_jobs)
def test_round_robin_is_always_the_turn_of_who_has_fewest(jobs: list[tuple[int, str, int, int]]):
    wishes = [
        wish(str(number), 0, surplus, priority=priority, created=created, made=made)
        for number, (priority, created, surplus, made) in enumerate(jobs)
    ]
    assert list(round_robin(wishes, lambda *_: True)) == list(_one_by_one(wishes))


def _one_by_one(wishes: Iterable[Wish]) -> Iterator[Place]:
    """The rule itself, word for word."""
    left = {each.key: each for each in wishes}
    while candidates := [each for each in left.values() if each.surplus]:
        first = min(candidates, key=lambda each: (each.surplus_made, -each.priority, each.created, each.key))
        yield Place(first.key, first.surplus[0])
        left[first.key] = first._replace(surplus=first.surplus[1:], surplus_made=first.surplus_made + 1)


def test_where_it_matters_who_is_first_only_the_first_is_created():
    places = [Place(key, Slot("w", 0)) for key in ("quota/a", "free/a", "quota/b", "free/b")]
    assert [each.key for each in at_once(places, {"quota"})] == ["quota/a", "free/a", "free/b"]


# --- the creator, with an API server that is slow now and then ---


class Server:
    """`hands` of a creator: creations take their time, and namespaces may have a quota of pods."""

    def __init__(self, dice: random.Random, quotas: dict[str, int]) -> None:
        self._dice, self._quotas = dice, quotas
        self.posts: list[Place] = []
        self.begun = asyncio.Event()
        self.made: list[Place] = []
        self.in_flight = Counter[str]()
        self.most_in_flight = Counter[str]()

    async def has_quota(self, namespace: str) -> bool:
        await asyncio.sleep(self._dice.random())
        return namespace in self._quotas

    async def create_pod(self, job: QueueJob, slot: Slot) -> None:
        namespace = job.metadata.namespace
        self.posts.append(Place(job.metadata.key, slot))
        self.begun.set()
        self.in_flight[namespace] += 1
        self.most_in_flight |= self.in_flight
        await asyncio.sleep(self._dice.random())
        self.in_flight[namespace] -= 1
        used = sum(each.namespace == namespace for each in self.made)
        if used >= self._quotas.get(namespace, 1000):
            raise Forbidden("exceeded quota: q, requested: pods=1, used: pods=9, limited: pods=9", status=403)
        self.made.append(Place(job.metadata.key, slot))


class Creating:
    """A creator at work for some time, with jobs that wish for pods beyond their minimum."""

    def __init__(self, server: Server) -> None:
        self.told: list[str] = []
        self._index = QueueJobIndex(lambda _: None, lambda _: None)
        self.creator = Creator(self._index, server, self.told.append)

    def want(self, namespace: str, name: str, surplus: int, *, priority: int = 0, uid: str = "") -> None:
        body = job(name, task("w", surplus), minimum=0, scheduling={"priority": priority})
        body["metadata"] |= {"namespace": namespace, "uid": uid or f"{namespace}-{name}", "resourceVersion": "1"}
        found = Decoder("QueueJob", QueueJob)(msgspec.json.encode(body))
        self._index.upsert(found)
        slots = tuple(Slot("w", index) for index in range(surplus))
        self.creator.want(found.metadata.key, found, Steps(found.status, surplus=slots))

    async def run(self, seconds: float) -> None:
        running = asyncio.ensure_future(self.creator.run())
        await asyncio.sleep(seconds)
        running.cancel()
        await asyncio.wait([running])


@pytest.fixture
async def virtual():
    with looptime.enabled(strict=True):
        yield


@pytest.mark.parametrize("seed", range(20))
async def test_a_quota_goes_to_who_is_first_in_round_robin(seed: int, virtual):
    dice = random.Random(seed)
    jobs = {f"{name}": (dice.randint(0, 6), dice.randint(0, 2)) for name in "abcdef"}
    wishes = [
        Wish(f"quota/{name}", priority, "", (), tuple(Slot("w", index) for index in range(surplus)))
        for name, (surplus, priority) in jobs.items()
    ]
    first = list(_one_by_one(wishes))[: dice.randint(0, 12)]
    server = Server(dice, {"quota": len(first)})
    creating = Creating(server)
    for name, (surplus, priority) in jobs.items():
        creating.want("quota", name, surplus, priority=priority)
        creating.want("free", name, surplus, priority=priority)
    await creating.run(300)
    assert [each for each in server.made if each.namespace == "quota"] == first
    assert {each for each in server.made if each.namespace == "free"} == {
        Place(f"free/{name}", Slot("w", index)) for name, (surplus, _) in jobs.items() for index in range(surplus)
    }


async def test_without_a_quota_pods_beyond_the_minimums_are_created_at_once(virtual):
    server = Server(random.Random(0), {"quota": 1000})
    creating = Creating(server)
    for namespace in ("free", "quota"):
        creating.want(namespace, "a", 4)
        creating.want(namespace, "b", 4)
    await creating.run(100)
    assert len(server.made) == 16
    assert server.most_in_flight == {"free": 8, "quota": 1}


async def test_a_wish_that_is_renewed_while_its_pods_are_on_their_way_creates_none_again(virtual):
    server = Server(random.Random(0), {})
    creating = Creating(server)
    creating.want("free", "a", 8)
    running = asyncio.ensure_future(creating.run(20))
    await server.begun.wait()
    await asyncio.sleep(0)
    assert (len(server.posts), server.made) == (8, [])
    creating.want("free", "a", 8)  # decided when none of them was known
    await running
    assert len(server.posts) == len(server.made) == 8


async def test_what_a_quota_refuses_is_not_tried_again_at_once(virtual):
    server = Server(random.Random(0), {"quota": 0})
    creating = Creating(server)
    creating.want("quota", "a", 2)
    creating.want("quota", "b", 2)
    await creating.run(60)
    assert len(server.posts) < 10
