"""Leader election in virtual time, one rule per test; `test_lease_property.py` throws everything at it at once."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.kube.leader import LeaderLease, Timing
from tests.kube.candidates import NAME, TIMING, Candidate, Fault, running_candidates, stored
from tests.kube.world import World, now, until

pytestmark = pytest.mark.looptime


async def test_the_first_one_leads_and_the_second_stands_by() -> None:
    async with World() as world:
        a, b = Candidate(world, "a"), Candidate(world, "b")
        async with running_candidates(a, b):
            await asyncio.sleep(60)
            assert sorted([len(a.led), len(b.led)]) == [0, 1]
            assert [a.lease.holds(), b.lease.holds()].count(True) == 1


async def test_the_lease_says_who_leads_since_when_and_for_how_long() -> None:
    async with World() as world:
        a = Candidate(world, "a")
        async with running_candidates(a):
            await asyncio.sleep(1)
            first = (await stored(world))["spec"]
            await asyncio.sleep(10)
            later = (await stored(world))["spec"]
        assert (first["holderIdentity"], first["leaseDurationSeconds"]) == ("a", 3)
        assert later["acquireTime"] == first["acquireTime"]
        assert later["renewTime"] > first["renewTime"]
        assert later.get("leaseTransitions", 0) == 0


async def test_a_stopped_leader_releases_the_lease_and_the_next_one_leads_at_once() -> None:
    async with World() as world:
        a, b = Candidate(world, "a"), Candidate(world, "b")
        async with running_candidates(a):
            await until(lambda: bool(a.led))
            async with running_candidates(b):
                await asyncio.sleep(10)
                await a.stop()
                assert not (await stored(world))["spec"].get("holderIdentity")
                released = now()
                await until(lambda: bool(b.led))
                assert now() - released <= TIMING.retry_period_s * 1.2 + 0.1
                assert (await stored(world))["spec"]["leaseTransitions"] >= 1


async def test_a_leader_stopped_during_a_renewal_releases_the_lease() -> None:
    async with World() as world:
        a = Candidate(world, "a", faults=[Fault("slow", start=5, length=1)])
        async with running_candidates(a):
            await until(lambda: now() >= 5.6)  # the renewal has arrived, its answer has not
            await a.stop()
        assert not (await stored(world))["spec"].get("holderIdentity")


async def test_a_crashed_leader_is_succeeded_after_the_lease_duration_and_not_before() -> None:
    async with World() as world:
        a, b = Candidate(world, "a"), Candidate(world, "b")
        async with running_candidates(a):
            await until(lambda: bool(a.led))
            async with running_candidates(b):
                await asyncio.sleep(10)
                await a.crash()
                crashed = now()
                await until(lambda: bool(b.led))
                waited = now() - crashed
        assert TIMING.lease_duration_s - TIMING.retry_period_s <= waited
        assert waited <= TIMING.lease_duration_s + 2 * 1.2 * TIMING.retry_period_s


async def test_a_leader_that_cannot_renew_stops_before_another_can_acquire() -> None:
    async with World() as world:
        a, b = Candidate(world, "a", faults=[Fault("down", start=10, length=60)]), Candidate(world, "b")
        async with running_candidates(a):
            await until(lambda: bool(a.led))
            async with running_candidates(b):
                await until(lambda: bool(b.led))
                assert len(a.stopped) == 1
                assert a.stopped[0] < b.led[0]
                assert a.stopped[0] <= 10 + TIMING.renew_deadline_s
                assert not a.lease.holds()


async def test_a_leader_whose_renewals_hang_stops_in_time_too() -> None:
    async with World() as world:
        a = Candidate(world, "a", faults=[Fault("late", start=10, length=100)])
        async with running_candidates(a):
            await until(lambda: bool(a.stopped))
            assert a.stopped[0] <= 10 + TIMING.renew_deadline_s


async def test_a_short_outage_does_not_end_a_term() -> None:
    async with World() as world:
        a = Candidate(world, "a", faults=[Fault("down", start=10, length=1)])
        async with running_candidates(a):
            await asyncio.sleep(60)
            assert len(a.led) == 1
            assert a.stopped == []


async def test_a_lost_answer_to_a_renewal_does_not_end_a_term() -> None:
    async with World() as world:
        a = Candidate(world, "a", faults=[Fault("lost", start=10, length=0.7)])
        async with running_candidates(a):
            await asyncio.sleep(60)
            assert a.stopped == []


async def test_a_lost_answer_to_an_acquisition_does_not_prevent_it() -> None:
    async with World() as world:
        a = Candidate(world, "a", faults=[Fault("lost", start=0, length=0.1)])
        async with running_candidates(a):
            await asyncio.sleep(2)
            assert len(a.led) == 1


async def test_a_lease_with_another_holder_ends_the_term_at_the_next_renewal() -> None:
    async with World() as world:
        a = Candidate(world, "a")
        async with running_candidates(a):
            await asyncio.sleep(10)
            await world.ask("PATCH", NAME.path, {"spec": {"holderIdentity": "thief"}})
            stolen = now()
            await until(lambda: bool(a.stopped))
            assert now() - stolen <= TIMING.retry_period_s + 0.1
            assert not a.lease.holds()
            assert (await stored(world))["spec"]["holderIdentity"] == "thief", "and it does not touch it"


async def test_a_deleted_lease_ends_the_term_and_a_standby_waits_until_its_holder_must_know() -> None:
    async with World() as world:
        a, b = Candidate(world, "a", faults=[Fault("down", start=10, length=60)]), Candidate(world, "b")
        async with running_candidates(a):
            await until(lambda: bool(a.led))
            async with running_candidates(b):
                await until(lambda: now() >= 10.1)
                await world.ask("DELETE", NAME.path)
                await until(lambda: bool(b.led))
                assert a.stopped
                assert a.stopped[0] < b.led[0]


async def test_a_leader_steps_down_as_soon_as_it_sees_that_its_lease_was_deleted() -> None:
    async with World() as world:
        a = Candidate(world, "a")
        async with running_candidates(a):
            await asyncio.sleep(10)
            await world.ask("DELETE", NAME.path)
            await asyncio.sleep(TIMING.retry_period_s + 0.1)
            assert len(a.stopped) == 1
            await asyncio.sleep(5)
            assert len(a.led) == 2, "and leads again with a new one"


async def test_a_duration_of_a_fraction_is_rounded_up_for_the_others() -> None:
    """1.4 s rounded to 1 would let another one in while we are certain for 1.3 s."""
    async with World() as world:
        timing = Timing(lease_duration_s=1.4, renew_deadline_s=1.3, retry_period_s=0.2)
        async with running_candidates(Candidate(world, "a", timing)):
            await asyncio.sleep(1)
            assert (await stored(world))["spec"]["leaseDurationSeconds"] == 2


async def test_a_leader_that_fails_releases_the_lease_and_fails() -> None:
    async with World() as world:
        lease = LeaderLease(world.client, NAME, "a", TIMING, clock=now)

        async def lead() -> None:
            raise LookupError("a bug")

        with pytest.RaisesGroup(LookupError):
            await lease.run(lead)
        assert not lease.holds()
        assert not (await stored(world))["spec"].get("holderIdentity")


async def test_certainty_counts_from_when_the_renewal_was_sent_and_not_from_its_answer() -> None:
    async with World() as world:
        a = Candidate(world, "a", faults=[Fault("slow", start=0, length=0.9)])
        async with running_candidates(a):
            await until(lambda: bool(a.led), step=0.01)
            a.transport.faults = [Fault("down", 0, 1e9)]
            await until(lambda: not a.lease.holds(), step=0.01)
            assert now() <= TIMING.renew_deadline_s + 0.02


async def test_a_lease_that_may_not_be_read_is_trouble_and_logged_once(log) -> None:
    async with World() as world:
        a = Candidate(world, "a", faults=[Fault("down", start=0, length=30)])
        async with running_candidates(a):
            await asyncio.sleep(29)
            assert a.lease.trouble == "Unavailable: down"
            assert [entry["event"] for entry in log] == ["lease_unreachable"]
            await until(lambda: bool(a.led))
            assert a.lease.trouble == ""


async def test_an_answer_that_is_no_lease_is_trouble_and_not_the_end() -> None:
    async with World() as world:
        await world.ask("POST", NAME.collection, {"metadata": {"name": NAME.name}, "spec": {"holderIdentity": ""}})
        a = Candidate(world, "a")
        honest = a.transport.inner.send

        async def proxy(*arguments, **named):
            answer = await honest(*arguments, **named)
            return answer._replace(body=b"<html>") if now() < 10 else answer

        a.transport.inner.send = proxy
        async with running_candidates(a):
            await asyncio.sleep(9)
            assert a.lease.trouble.startswith("MalformedObject")
            await asyncio.sleep(5)
            assert a.lease.holds()


# --- what it says ---


async def test_a_standby_says_once_that_it_stands_by_and_who_leads(log) -> None:
    async with World() as world:
        a, b = Candidate(world, "a"), Candidate(world, "b")
        async with running_candidates(a):
            await until(lambda: bool(a.led))
            async with running_candidates(b):
                await asyncio.sleep(60)
    said = [entry for entry in log if entry["event"] == "standing_by"]
    assert [(entry["leader"], entry["identity"], entry["lease"]) for entry in said] == [("a", "b", "koord-scheduler")]


async def test_a_standby_says_when_the_leader_changes(log) -> None:
    async with World() as world:
        a, b, c = (Candidate(world, name) for name in "abc")
        async with running_candidates(a):
            await until(lambda: bool(a.led))
            async with running_candidates(b, c):
                await asyncio.sleep(5)
                await a.crash()
                await until(lambda: bool(b.led or c.led))
                await asyncio.sleep(5)
                leader, other = ("b", "c") if b.led else ("c", "b")
    said = [(entry["identity"], entry["leader"]) for entry in log if entry["event"] == "standing_by"]
    assert sorted(said[:2]) == [("b", "a"), ("c", "a")]
    assert said[2:] == [(other, leader)]


async def test_whoever_led_and_lost_says_again_who_leads(log) -> None:
    async with World() as world:
        a, b = Candidate(world, "a", faults=[Fault("down", start=10, length=20)]), Candidate(world, "b")
        async with running_candidates(a):
            await until(lambda: bool(a.led))
            async with running_candidates(b):
                await asyncio.sleep(60)
    said = [(entry["identity"], entry["leader"]) for entry in log if entry["event"] == "standing_by"]
    assert said == [("b", "a"), ("a", "b")]
