"""The controllers on a real kube-apiserver of their own, as definitions come, go and are replaced there."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from koordpy.api.podgroup.coscheduling import SIGS_GROUP, X_GROUP, PodGroup, PodGroupStatus
from koordpy.app.controllers import run
from koordpy.controllers.podgroup.api import PodGroupApi
from koordpy.controllers.podgroup.gangs import GangIndex
from koordpy.controllers.podgroup.kinds import KINDS as WRITTEN
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.client import Client as KubeClient
from koordpy.kube.errors import Conflict, NotFound
from koordpy.kube.http.transport import HttpTransport
from tests.builders import pod_json, typed
from tests.controllers.world import ALONE, MEMBER, definition
from tests.controlplane.client import Client, Json
from tests.controlplane.fixtures import Real, corner
from tests.controlplane.server import ControlPlane

pytestmark = pytest.mark.real

CRDS = "customresourcedefinitions"
KINDS: dict[str, dict[str, Any]] = {
    "ours": {},
    "koordinators": {"status_subresource": False},
    "coschedulings": {"group": X_GROUP, "scheduled": False},
}


@pytest.fixture(scope="module")
def own_control_plane() -> Iterator[ControlPlane]:
    """Definitions are shared by everybody on a server; these tests replace them."""
    with ControlPlane() as control_plane:
        yield control_plane


@pytest.fixture
async def own(own_control_plane: ControlPlane) -> AsyncIterator[Real]:
    async with corner(own_control_plane) as real:
        for group in (SIGS_GROUP, X_GROUP):
            await real.client.delete(CRDS, f"podgroups.{group}")
            await until(lambda group=group: is_served(real.client, group), False)
        yield real


async def until(ask: Callable[[], Awaitable[Any]], wanted: Any, seconds: float = 20) -> None:
    found: Any = None
    try:
        async with asyncio.timeout(seconds):
            while (found := await ask()) != wanted:  # noqa: ASYNC110 - another process does it
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"waited {seconds} s for {wanted}, found {found}") from None


def podgroups(group: str) -> str:
    return f"apis/{group}/v1alpha1/podgroups"


async def is_served(api: Client, group: str) -> bool:
    return (await api.list(podgroups(group))).status == 200


async def install(api: Client, group: str = SIGS_GROUP, **variant: bool) -> None:
    (await api.create(CRDS, definition(group, **variant))).ok()
    await until(lambda: is_served(api, group), True)


async def add_group(api: Client, minimum: int, group: str = SIGS_GROUP) -> Json:
    body = {"apiVersion": f"{group}/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"}}
    return (await api.create(podgroups(group), body | {"spec": {"minMember": minimum}})).ok()


async def add_pods(api: Client, *names: str) -> None:
    for name in names:
        pod = pod_json(name, namespace=api.namespace, labels={MEMBER: "g"}, owner=("Job", "job"))
        (await api.create("pods", pod)).ok()


async def set_phase(api: Client, phase: str, *names: str) -> None:
    for name in names:
        (await api.patch("pods", name, {"status": {"phase": phase}}, subresource="status", how="strategic")).ok()


async def status_of(api: Client, group: str = SIGS_GROUP) -> Json:
    return (await api.get(podgroups(group), "g")).ok().get("status", {})


async def phase_of(api: Client, group: str = SIGS_GROUP) -> str:
    return (await status_of(api, group)).get("phase", "")


async def running_in(api: Client) -> int:
    return (await status_of(api)).get("running", 0)


@contextlib.asynccontextmanager
async def controllers(real: Real, directory: Path) -> AsyncIterator[None]:
    settings = replace(ALONE, kubeconfig=str(real.kubeconfig(directory)))
    task = asyncio.ensure_future(run(settings, None))
    try:
        yield
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.mark.parametrize("kind", KINDS)
async def test_the_status_follows_the_pods_whatever_definition_is_installed(own: Real, tmp_path, kind):
    api, group = own.client, KINDS[kind].get("group", SIGS_GROUP)
    await install(api, **{"group": SIGS_GROUP} | KINDS[kind])
    async with controllers(own, tmp_path):
        await add_group(api, 2, group)
        await until(lambda: phase_of(api, group), "Pending")
        await add_pods(api, "a", "b")
        await until(lambda: phase_of(api, group), "PreScheduling")
        (await api.bind("a", "n")).ok()
        await until(lambda: phase_of(api, group), "Scheduling")
        (await api.bind("b", "n")).ok()
        await until(lambda: phase_of(api, group), "Scheduled")
        await set_phase(api, "Running", "a", "b")
        await until(lambda: phase_of(api, group), "Running")
        await set_phase(api, "Succeeded", "a", "b")
        await until(lambda: phase_of(api, group), "Finished")
        found = await status_of(api, group)
        for name in ("a", "b"):
            (await api.delete("pods", name, grace=0)).ok()
        await rests(api, group)
        assert await status_of(api, group) == found
    assert found.pop("scheduleStartTime").endswith("Z")
    assert [each["status"] for each in found.pop("conditions", [{"status": "True"}])] == ["True"]
    counts = {"running": 0, "succeeded": 2, "failed": 0} | ({} if kind == "coschedulings" else {"scheduled": 2})
    assert found == {"phase": "Finished", "occupiedBy": f"{own.namespace}/job", **counts}


async def rests(api: Client, group: str) -> None:
    """Nothing is written to the PodGroups for a while."""
    await asyncio.sleep(0.5)
    version = (await api.list(podgroups(group))).ok()["metadata"]["resourceVersion"]
    async with api.watch(podgroups(group), resourceVersion=version) as watch:
        assert await watch.quiet(1.5)


async def test_definitions_that_are_installed_later_and_deleted_again_are_noticed(own: Real, tmp_path):
    api = own.client
    await add_pods(api, "a")
    async with controllers(own, tmp_path):
        await asyncio.sleep(1)
        await install(api, X_GROUP)
        await add_group(api, 1, X_GROUP)
        await until(lambda: phase_of(api, X_GROUP), "PreScheduling")
        (await api.delete(CRDS, f"podgroups.{X_GROUP}")).ok()
        await until(lambda: is_served(api, X_GROUP), False)
        await install(api, X_GROUP)
        await add_group(api, 1, X_GROUP)
        await until(lambda: phase_of(api, X_GROUP), "PreScheduling")


async def test_koordinators_definition_is_replaced_by_ours_while_they_run(own: Real, tmp_path):
    api = own.client
    await install(api, status_subresource=False)
    async with controllers(own, tmp_path):
        await add_group(api, 1)
        await add_pods(api, "a", "b")
        for name in ("a", "b"):
            (await api.bind(name, "n")).ok()
        await set_phase(api, "Running", "a")
        await until(lambda: running_in(api), 1)
        ours = definition()["spec"]
        (await api.patch(CRDS, f"podgroups.{SIGS_GROUP}", {"spec": ours})).ok()
        status = f"/apis/{SIGS_GROUP}/v1alpha1/namespaces/{own.namespace}/podgroups/g/status"

        async def has_subresource() -> bool:
            return (await api.request("GET", status)).status == 200

        await until(has_subresource, True)
        await set_phase(api, "Running", "b")  # the phase of the PodGroup stays
        await until(lambda: running_in(api), 2)


async def test_a_server_that_went_away_is_caught_up_with(own: Real, tmp_path):
    api = own.client
    await install(api)
    async with controllers(own, tmp_path):
        await add_group(api, 1)
        await until(lambda: phase_of(api), "Pending")
        await own.control_plane.stop_apiserver(signal.SIGKILL)
        await own.control_plane.start_apiserver()
        await until(lambda: is_served(api, SIGS_GROUP), True)
        await add_pods(api, "a")
        await until(lambda: phase_of(api), "PreScheduling", 45)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_podgroup_that_changed_or_went_is_not_written(own: Real, tmp_path, kind):
    api, group = own.client, KINDS[kind].get("group", SIGS_GROUP)
    await install(api, **{"group": SIGS_GROUP} | KINDS[kind])
    old = typed(await add_group(api, 1, group), PodGroup)
    pod_groups = PodGroupApi(WRITTEN[f"{group}/v1alpha1"], GangIndex((), lambda _: None, lambda: 0.0))
    credentials = await load_credentials(str(own.kubeconfig(tmp_path)))
    async with HttpTransport(credentials, connections=1) as transport:
        client = KubeClient(transport)
        (await api.delete(podgroups(group), "g")).ok()
        with pytest.raises(NotFound):
            await pod_groups.write(client, old.metadata, PodGroupStatus(phase="Running"))
        await add_group(api, 1, group)
        with pytest.raises(Conflict):
            await pod_groups.write(client, old.metadata, PodGroupStatus(phase="Running"))
    assert await phase_of(api, group) == ""
