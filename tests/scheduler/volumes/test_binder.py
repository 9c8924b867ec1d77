"""Carrying out a choice of volumes: what is written, what is waited for, and when waiting has become pointless."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from koordpy.kube.client import Client
from koordpy.kube.errors import Conflict
from koordpy.scheduler.execute.volumes import VolumeBinder, VolumesNotBound
from koordpy.sim.embedded.faults import Fault, Rule
from koordpy.state.storage import VolumeChoice
from tests.builders import node
from tests.kube.world import Scripted, now
from tests.scheduler.volumes.asking import cluster_of, tell
from tests.scheduler.volumes.objects import DRIVER, claim, volume
from tests.scheduler.volumes.world import TIME_LIMIT_S, Instance, StorageWorld, settled

pytestmark = pytest.mark.looptime

STATIC = VolumeChoice(static=(("default/data", "pv1"),))
MADE = VolumeChoice(provisioned=("default/data",))
CLAIM = "/api/v1/namespaces/default/persistentvolumeclaims/data"
VOLUME = "/api/v1/persistentvolumes/pv1"


@asynccontextmanager
async def stage() -> AsyncIterator[tuple[StorageWorld, Instance]]:
    """Two nodes, an unbound claim, a volume for it on n1, and a picture of them."""
    async with StorageWorld() as world:
        await world.add_nodes("n1", "n2")
        await world.controller.add_class(provisioner=DRIVER)
        await world.controller.add_claim()
        await world.controller.add_volume(nodes=["n1"])
        instance = Instance(world.client)
        async with instance.watching():
            yield world, instance


@asynccontextmanager
async def binding(instance: Instance, choice: VolumeChoice) -> AsyncIterator[asyncio.Task[None]]:
    """The bind of a choice for n1 under way."""
    instance.cluster.storage.reserve(choice, "n1")
    task = asyncio.create_task(instance.binder.bind(choice, "n1"))
    try:
        await settled()
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_volume_is_given_to_its_claim_and_the_claim_is_waited_for() -> None:
    async with stage() as (world, instance), binding(instance, STATIC) as bind:
        given = await world.controller.volume()
        reference = given["spec"]["claimRef"]
        assert (reference["namespace"], reference["name"]) == ("default", "data")
        assert reference["uid"] == (await world.controller.claim())["metadata"]["uid"]
        assert given["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"
        assert not bind.done()
        await world.controller.finish()
        await bind
        assert world.writes() == ["PATCH persistentvolumes/pv1"]


async def test_a_claim_to_be_provisioned_is_told_its_node_and_waited_for() -> None:
    async with stage() as (world, instance), binding(instance, MADE) as bind:
        assert await world.controller.selected_node() == "n1"
        assert not bind.done()
        await world.controller.provision()
        await bind
        assert world.writes() == ["PATCH persistentvolumeclaims/data"]


async def test_several_claims_are_all_written_before_any_is_waited_for() -> None:
    async with stage() as (world, instance):
        await world.controller.add_claim("other")
        both = VolumeChoice(STATIC.static, ("default/other",))
        async with binding(instance, both) as bind:
            assert world.writes() == ["PATCH persistentvolumes/pv1", "PATCH persistentvolumeclaims/other"]
            await world.controller.provision("other")
            await settled()
            assert not bind.done(), "one of two claims is bound"
            await world.controller.finish()
            await bind


async def test_a_bound_claim_is_not_enough_before_the_watch_has_shown_its_volume() -> None:
    """The promise ends with the bind of the pod: a volume that still looked free by then would be given away again."""
    own = claim(bound_to="made", selected_node="n1")
    cluster = cluster_of(node("n1"), own)
    cluster.storage.reserve(MADE, "n1")
    binder = VolumeBinder(Client(Scripted([], [])), cluster, TIME_LIMIT_S)  # nothing is asked of the API server
    bind = asyncio.create_task(binder.bind(MADE, "n1"))
    for before in ([], [volume("made")]):
        tell(cluster, *before)
        binder.storage_changed()
        await settled()
        assert not bind.done()
    tell(cluster, volume("made", claim="data", claim_uid=own.metadata.uid))
    binder.storage_changed()
    await bind


# --- what is there already ---


async def test_what_an_earlier_attempt_has_written_is_not_written_again() -> None:
    for choice in (STATIC, MADE):
        async with stage() as (world, instance):
            async with binding(instance, choice):
                pass  # it dies while it waits
            done = world.writes()
            async with binding(instance, choice) as bind:
                await (world.controller.finish() if choice is STATIC else world.controller.provision())
                await bind
            assert world.writes() == done


async def test_pods_that_share_a_claim_write_it_once() -> None:
    for choice in (STATIC, MADE):
        async with stage() as (world, instance), binding(instance, choice) as one, binding(instance, choice) as two:
            await (world.controller.finish() if choice is STATIC else world.controller.provision())
            await asyncio.gather(one, two)
            assert len(world.writes()) == 1


async def test_a_pod_that_shares_a_claim_writes_it_itself_when_the_other_could_not() -> None:
    async with stage() as (world, instance):
        world.faults.add(Rule(Fault.DELAY, "PATCH", VOLUME, seconds=2, count=1))
        async with binding(instance, STATIC) as one, binding(instance, STATIC) as two:
            label = {"metadata": {"labels": {"touched": "yes"}}}
            await world.ask("PATCH", VOLUME, label)  # so that the first write fails
            with pytest.raises(Conflict):
                await one
            await settled()
            await world.controller.finish()
            await asyncio.wait_for(two, 1)


# --- trouble with the API server ---


@pytest.mark.parametrize(("choice", "path"), [(STATIC, VOLUME), (MADE, CLAIM)])
@pytest.mark.parametrize("fault", [Fault.STATUS, Fault.DROP])
async def test_a_write_that_fails_for_a_moment_is_repeated(choice: VolumeChoice, path: str, fault: Fault) -> None:
    async with stage() as (world, instance):
        world.faults.add(Rule(fault, "PATCH", path, status=503))
        async with binding(instance, choice) as bind:
            await (world.controller.finish() if choice is STATIC else world.controller.provision())
            await bind


@pytest.mark.parametrize(("choice", "path"), [(STATIC, VOLUME), (MADE, CLAIM)])
async def test_a_write_whose_answer_was_lost_costs_at_most_another_attempt(choice: VolumeChoice, path: str) -> None:
    """Repeated, it meets the version that it made itself. The attempt fails, and the next finds everything written."""
    async with stage() as (world, instance):
        world.faults.add(Rule(Fault.ANSWER_LOST, "PATCH", path, status=0))
        async with binding(instance, choice) as bind:
            with pytest.raises(Conflict):
                await bind
        async with binding(instance, choice) as bind:
            await (world.controller.finish() if choice is STATIC else world.controller.provision())
            await bind


async def test_a_volume_that_somebody_took_a_moment_ago_is_not_taken_from_them() -> None:
    async with stage() as (world, instance):
        world.faults.add(Rule(Fault.DELAY, "PATCH", VOLUME, seconds=5))
        async with binding(instance, STATIC) as bind:
            await world.controller.take_volume()
            with pytest.raises(Conflict):
                await bind
        assert await world.controller.owner_of() == "thief"


async def test_a_volume_that_somebody_took_since_it_was_chosen_is_not_written_to() -> None:
    async with stage() as (world, instance):
        await world.controller.take_volume()
        await settled()
        async with binding(instance, STATIC) as bind:
            with pytest.raises(VolumesNotBound, match="persistentvolume pv1 went to another claim than default/data"):
                await bind
        assert world.writes() == []


# --- when waiting is pointless ---


async def test_waiting_has_a_limit() -> None:
    async with stage() as (_, instance):
        began = now()
        async with binding(instance, STATIC) as bind:
            with pytest.raises(VolumesNotBound, match="volumes were not bound within 600 s"):
                await bind
        assert now() - began == pytest.approx(TIME_LIMIT_S, abs=1)


async def test_a_claim_that_is_deleted_is_waited_for_no_longer() -> None:
    for choice in (STATIC, MADE):
        async with stage() as (world, instance), binding(instance, choice) as bind:
            await world.controller.delete_claim()
            with pytest.raises(VolumesNotBound, match="persistentvolumeclaim default/data is gone"):
                await asyncio.wait_for(bind, 1)


async def test_a_claim_that_was_made_again_does_not_have_the_volume_of_the_old_one() -> None:
    async with stage() as (world, instance), binding(instance, STATIC) as bind:
        await world.controller.delete_claim()
        await world.controller.add_claim()
        with pytest.raises(VolumesNotBound, match=r"is gone|went to another claim"):
            await asyncio.wait_for(bind, 1)


async def test_a_volume_that_is_deleted_is_waited_for_no_longer() -> None:
    async with stage() as (world, instance), binding(instance, STATIC) as bind:
        await world.controller.delete_volume()
        with pytest.raises(VolumesNotBound, match="persistentvolume pv1 is gone"):
            await asyncio.wait_for(bind, 1)


async def test_a_volume_that_the_controller_takes_back_is_waited_for_no_longer() -> None:
    async with stage() as (world, instance), binding(instance, STATIC) as bind:
        await world.controller.untie_volume()
        with pytest.raises(VolumesNotBound, match="persistentvolume pv1 was taken away from default/data"):
            await asyncio.wait_for(bind, 1)


async def test_a_provisioner_that_gives_up_is_waited_for_no_longer() -> None:
    expected = "provisioning of persistentvolumeclaim default/data for node n1 failed"
    async with stage() as (world, instance), binding(instance, MADE) as bind:
        await world.controller.give_up()
        with pytest.raises(VolumesNotBound, match=expected):
            await asyncio.wait_for(bind, 1)


async def test_a_claim_that_is_provisioned_for_another_node_is_waited_for_no_longer() -> None:
    async with stage() as (world, instance):
        await world.controller.add_claim("elsewhere", selected_node="n2")
        await settled()
        async with binding(instance, VolumeChoice(provisioned=("default/elsewhere",))) as bind:
            with pytest.raises(VolumesNotBound, match="is being provisioned for another node, n2"):
                await asyncio.wait_for(bind, 1)


async def test_a_pod_is_not_bound_where_its_new_volume_cannot_be_reached() -> None:
    async with stage() as (world, instance), binding(instance, MADE) as bind:
        await world.controller.provision(nodes=["n2"])
        with pytest.raises(VolumesNotBound, match="persistentvolume made of default/data cannot be reached from n1"):
            await asyncio.wait_for(bind, 1)


async def test_nobody_waits_for_the_volumes_of_a_pod_that_is_gone() -> None:
    async with stage() as (_, instance), binding(instance, MADE) as bind:
        instance.cluster.storage.unreserve(MADE)
        instance.binder.storage_changed()
        with pytest.raises(VolumesNotBound, match="the pod that they were reserved for is gone"):
            await asyncio.wait_for(bind, 1)


async def test_nothing_is_written_for_a_pod_that_was_gone_before_its_turn() -> None:
    async with stage() as (world, instance):
        with pytest.raises(VolumesNotBound, match="the pod that they were reserved for is gone"):
            await instance.binder.bind(STATIC, "n1")
        assert world.writes() == []
