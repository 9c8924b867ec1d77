"""The judges of simulated worlds speak up: each rule is broken once, by hand, and each excuse is given once."""

from __future__ import annotations

import pytest

from koordpy.sim.simulate import shrink
from koordpy.sim.simulate.history import History, Step, drawn
from koordpy.sim.simulate.loop import Stuck, VirtualLoop
from koordpy.sim.simulate.world import Outcome
from tests.sim.simulate.judging import Bench, told

OF_THREE = {"members": 3, "minimum": 3, "cpu": 1, "frontend": "annotations"}

# --- gangs in pieces ---


async def two_of_three(bench: Bench) -> None:
    await bench.node("n1", 4, 0)
    await bench.gang("g", **OF_THREE)
    await bench.bind(g_0="n1", g_1="n1")


def test_a_gang_that_stays_bound_in_part_is_told():
    async def story(bench: Bench) -> None:
        await two_of_three(bench)
        await bench.let_pass(30)

    assert told(story) == ["gang users/g stays bound in part: {'g-0': 'n1', 'g-1': 'n1', 'g-2': ''}"]


def test_a_gang_that_is_whole_in_time_is_not():
    async def story(bench: Bench) -> None:
        await two_of_three(bench)
        await bench.let_pass(10)
        await bench.bind(g_2="n1")
        await bench.let_pass(60)

    assert told(story) == []


def test_what_happens_to_other_gangs_excuses_nobody():
    async def story(bench: Bench) -> None:
        await two_of_three(bench)
        await bench.gang("other", **OF_THREE)
        await bench.users.delete_gang("other", "annotations")
        await bench.let_pass(30)

    assert len(told(story)) == 1


def test_a_lost_node_excuses_a_gang_in_pieces_for_as_long_as_nothing_fits():
    async def story(bench: Bench) -> None:
        await bench.node("n2", 4, 0)
        await two_of_three(bench)
        await bench.users.ask("DELETE", "/api/v1/nodes/n2")
        await bench.node("n1", 2, 0)
        await bench.let_pass(100)

    assert told(story) == []


def test_a_gang_in_pieces_is_told_once_what_it_lacks_fits_whatever_happened_before():
    async def story(bench: Bench) -> None:
        await bench.node("n2", 4, 0)
        await two_of_three(bench)
        await bench.users.ask("DELETE", "/api/v1/nodes/n2")
        await bench.let_pass(40)
        assert not bench.judge.wrong
        await bench.let_pass(10)

    assert len(told(story)) == 1


def test_a_gang_that_is_begun_without_enough_members_is_told():
    async def story(bench: Bench) -> None:
        await bench.node("n1", 4, 0)
        await bench.gang("g", **OF_THREE | {"members": 2})
        await bench.bind(g_0="n1")

    assert told(story) == ["gang users/g was begun with 2 members, and needs 3"]


def test_a_member_that_its_owner_took_away_just_now_is_an_excuse():
    async def story(bench: Bench) -> None:
        await bench.node("n1", 4, 0)
        await bench.gang("g", **OF_THREE)
        await bench.users.delete_pods("g-2")
        await bench.bind(g_0="n1")

    assert told(story) == []


def test_a_gang_that_has_to_be_gathered_and_is_not_is_told():
    async def story(bench: Bench) -> None:
        await bench.node("n1", 1, 0, rack="a")
        await bench.node("n2", 2, 0, rack="b")
        await bench.gang("g", **OF_THREE | {"members": 2, "minimum": 2, "gather": "MustGather"})
        await bench.bind(g_0="n1", g_1="n2")

    assert told(story) == ["gang users/g has to be in one rack, and is in ['a', 'b']"]


# --- evictions ---


async def a_full_node(bench: Bench) -> None:
    await bench.node("n1", 2, 0)
    await bench.pod("low", cpu=1, priority="low")
    await bench.pod("mid", cpu=1, priority="mid")
    await bench.bind(low="n1", mid="n1")
    await bench.let_pass(30)


def test_an_eviction_by_which_the_preemptor_fits_is_right():
    async def story(bench: Bench) -> None:
        await a_full_node(bench)
        await bench.pod("high", cpu=1, priority="high")
        await bench.evict("low", "high", "high")
        await bench.let_pass(10)

    assert told(story) == []


def test_an_eviction_by_which_the_preemptor_does_not_fit_is_told():
    async def story(bench: Bench) -> None:
        await a_full_node(bench)
        await bench.pod("high", cpu=2, priority="high")
        await bench.evict("low", "high", "high")
        await bench.let_pass(10)

    assert [each.partition(":")[0] for each in told(story)] == [
        "['users/low'] were evicted for users/high, which does not fit by that"
    ]


def test_an_eviction_for_one_that_fitted_anyway_is_told():
    async def story(bench: Bench) -> None:
        await a_full_node(bench)
        await bench.node("n2", 2, 0)
        await bench.let_pass(30)
        await bench.pod("high", cpu=1, priority="high")
        await bench.evict("low", "high", "high")
        await bench.let_pass(10)

    assert [each.partition(":")[0] for each in told(story)] == [
        "['users/low'] were evicted for users/high, which fitted without that"
    ]


def test_a_node_that_came_just_now_is_an_excuse():
    async def story(bench: Bench) -> None:
        await a_full_node(bench)
        await bench.pod("high", cpu=1, priority="high")
        await bench.node("n2", 2, 0)
        await bench.evict("low", "high", "high")
        await bench.let_pass(10)

    assert told(story) == []


def test_an_eviction_for_one_that_is_not_more_important_is_told():
    async def story(bench: Bench) -> None:
        await a_full_node(bench)
        await bench.pod("other", cpu=1, priority="mid")
        await bench.evict("mid", "other", "other")

    assert told(story) == ["users/mid was evicted for users/other, which is not more important"]


def test_a_gang_that_is_evicted_in_part_and_lacks_members_is_told():
    async def story(bench: Bench) -> None:
        await bench.node("n1", 3, 0)
        await bench.gang("g", **OF_THREE | {"priority": "low"})
        await bench.bind(g_0="n1", g_1="n1", g_2="n1")
        await bench.let_pass(30)
        await bench.pod("high", cpu=1, priority="high")
        await bench.evict("g-0", "high", "high")
        await bench.let_pass(10)

    assert told(story) == ["gang users/g had to leave for users/high, and ['g-1', 'g-2'] stay of the 3 that it needs"]


# --- nodes, queues, and the end ---


def test_a_node_that_gets_more_than_it_has_is_told():
    async def story(bench: Bench) -> None:
        await bench.node("n1", 1, 0)
        await bench.pod("a", cpu=1)
        await bench.pod("b", cpu=1)
        await bench.bind(a="n1", b="n1")

    assert told(story) == ["users/b was bound: n1 has cpu 1000, and its pods ask for 2000"]


def test_a_queue_that_gets_more_than_its_limit_is_told():
    async def story(bench: Bench) -> None:
        await bench.node("n1", 4, 0)
        await bench.users.queue("team", quota=1, limit=1)
        await bench.let_pass(100)
        await bench.pod("a", cpu=2, queue="team")
        await bench.bind(a="n1")

    assert told(story) == ["users/a was bound: queue team has a limit of 1000, and now has 2000"]


def test_what_is_pending_at_rest_though_it_fits_is_told():
    async def story(bench: Bench) -> None:
        await bench.node("n1", 4, 0)
        await bench.gang("g", **OF_THREE)
        wrong = bench.at_rest()
        assert any(each.startswith("gang users/g is pending, and 3 of its pods fit") for each in wrong)
        assert "users/g-0 is pending, and nobody says why" in wrong

    told(story)


def test_a_status_that_is_untrue_at_rest_is_told():
    async def story(bench: Bench) -> None:
        await bench.users.queue("team", quota=1)
        await bench.node("n1", 4, 0)
        await bench.pod("a", cpu=1, queue="team")
        await bench.bind(a="n1")
        await bench.gang("g", **OF_THREE | {"frontend": "sigs"})
        wrong = bench.at_rest()
        assert "queue team says that 0 is allocated, and 1000 is" in wrong
        assert "queue team says that 0 is requested, and 1000 is" in wrong
        assert "PodGroup users/g has no phase, and 3 pods" in wrong
        assert "PodGroup users/g waits, and no condition says why" in wrong

    told(story)


# --- the simulation itself ---


def test_a_shorter_history_goes_wrong_in_the_same_way(monkeypatch: pytest.MonkeyPatch):
    def played(history: History) -> Outcome:
        verbs = {step.at for step in history.steps}
        wrong = ["gang users/g1 stays bound in part: x"] if 3.0 in verbs else []
        wrong = ["something else"] if not wrong and 5.0 in verbs else wrong
        return Outcome(history, tuple(wrong), (), (), 0, 0.0)

    monkeypatch.setattr(shrink, "play", played)
    steps = tuple(Step(float(number), "pod", {"name": f"p{number}"}) for number in range(8))
    found = shrink.shortest(played(History(1, steps, ())))
    assert [step.at for step in found.history.steps] == [3.0]


def test_somebody_who_is_busy_without_end_ends_the_world():
    loop = VirtualLoop()

    def again() -> None:
        loop.call_soon(again)

    loop.call_soon(again)
    try:
        with pytest.raises(Stuck, match="busy without end"):
            loop.run_forever()
    finally:
        loop.close()


def test_a_seed_always_gives_the_same_history():
    assert drawn(7) == drawn(7)
