"""The gangs in `examples/`: on the cluster that a comment names, what the comment says comes true, word for word."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import yaml

from koordpy.app.crds import definitions
from koordpy.sim.embedded.kubelet import RUN_SECONDS
from koordpy.sim.embedded.nodes import simulated_node
from koordpy.sim.embedded.server import EmbeddedServer
from tests.builders import pod_json
from tests.cli.commands import started
from tests.controlplane.client import Client, Json
from tests.controlplane.server import ADMIN_TOKEN, ControlPlane

pytestmark = pytest.mark.process

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
GANGS = sorted(path.name for path in EXAMPLES.glob("gang-*.yaml"))
POD_GROUPS = "apis/scheduling.sigs.k8s.io/v1alpha1/podgroups"

RESOURCES = {
    "PodGroup": POD_GROUPS,
    "Pod": "pods",
    "Job": "apis/batch/v1/jobs",
    "PriorityClass": "priorityclasses",
}
MEMBER = "pod-group.scheduling.sigs.k8s.io"
PATIENCE_S = 20
_ROW = re.compile(r"#   (\w+) +(\w+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(?:\w+ +)?\d+s")


@pytest.fixture
async def api(tmp_path) -> AsyncIterator[Client]:
    """Three nodes of 8 CPUs, the definitions, and the scheduler with its controllers, as the comments want it."""
    nodes = [simulated_node(f"node-0{number}", cpu="8", memory="32Gi") for number in (1, 2, 3)]
    async with EmbeddedServer(nodes) as server, Client(server.url) as client:
        for definition in definitions():
            (await client.create("customresourcedefinitions", definition)).ok()
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig())
        quiet = ("--bind-address", "127.0.0.1", "--port", "0")
        with started("run", "--with-controllers", "--kubeconfig", kubeconfig, *quiet):
            yield client


def documents(file: str) -> list[Json]:
    return list(yaml.safe_load_all((EXAMPLES / file).read_text()))


def quoted(file: str) -> list[str]:
    """What the comment says that pods say; dots at the end stand for what preemption has to add."""
    lines = (line.removeprefix("#   ") for line in (EXAMPLES / file).read_text().splitlines() if line.startswith("#  "))
    return [line for line in lines if line.startswith(("0/", "gang "))]


def rows(file: str) -> list[tuple[str, ...]]:
    """What the comment says that `kubectl get pg` prints, without reason and age."""
    return _ROW.findall((EXAMPLES / file).read_text())


async def apply(api: Client, objects: list[Json]) -> None:
    for each in objects:
        (await api.create(RESOURCES[each["kind"]], each)).ok()


async def until(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await holds():  # noqa: ASYNC110 - another process does it
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"never happened: {what}") from None


async def pods(api: Client) -> dict[str, Json]:
    return {pod["metadata"]["name"]: pod for pod in (await api.list("pods")).ok()["items"]}


async def run(api: Client, *names: str) -> None:
    async def all_run() -> bool:
        found = await pods(api)
        return all(found[name]["status"]["phase"] == "Running" for name in names)

    await until(all_run, f"{names} run")


async def say(api: Client, message: str, *names: str) -> None:
    """Each of these pods has no node, and says exactly this in its condition and in an event."""

    async def all_say_so() -> bool:
        found = await pods(api)
        heard = await told(api, message)
        return all(_is(_message(found[name]), message) and ("Pod", name) in heard for name in names)

    await until(all_say_so, f"{names} say {message!r}")
    found = await pods(api)
    assert not any(found[name]["spec"].get("nodeName") for name in names)


async def hears(api: Client, message: str, pod_group: str) -> None:
    """The PodGroup has an event with this message; it is written behind those of the pods."""

    async def is_told() -> bool:
        return ("PodGroup", pod_group) in await told(api, message)

    await until(is_told, f"an event on {pod_group} says {message!r}")


async def told(api: Client, message: str) -> set[tuple[str, str]]:
    """Kind and name of everything that has an event with this message."""
    events = (await api.list("events")).ok()["items"]
    return {(e["regarding"]["kind"], e["regarding"]["name"]) for e in events if _is(e["note"], message)}


def _is(said: str, message: str) -> bool:
    return said.startswith(message[:-3]) if message.endswith("...") else said == message


def _message(pod: Json) -> str:
    conditions = pod["status"].get("conditions", [])
    return next((c.get("message", "") for c in conditions if c["type"] == "PodScheduled"), "")


async def shows(api: Client, row: tuple[str, ...]) -> None:
    async def as_in_the_comment() -> bool:
        found = (await api.get(POD_GROUPS, row[0])).ok()
        status = found.get("status", {})
        counts = [found["spec"]["minMember"]] + [status.get(f) for f in ("scheduled", "running", "succeeded", "failed")]
        return (status.get("phase"), *map(str, counts)) == row[1:]

    await until(as_in_the_comment, f"kubectl get pg shows {row}")


async def test_a_gang_by_pod_group_starts_and_its_pod_group_is_running(api):
    await apply(api, documents("gang-podgroup.yaml"))
    await run(api, "train-0", "train-1", "train-2")
    (row,) = rows("gang-podgroup.yaml")
    await shows(api, row)


async def test_without_the_label_of_one_the_others_wait_and_say_so(api):
    objects = documents("gang-podgroup.yaml")
    del objects[-1]["metadata"]["labels"][MEMBER]
    await apply(api, objects)
    await run(api, "train-2")
    (message,) = quoted("gang-podgroup.yaml")
    await say(api, message, "train-0", "train-1")


async def test_a_gang_by_annotations_starts(api):
    await apply(api, documents("gang-annotations.yaml"))
    await run(api, "sweep-0", "sweep-1", "sweep-2")


async def test_a_part_of_a_gang_by_annotations_waits_and_says_so(api):
    await apply(api, documents("gang-annotations.yaml")[:2])
    (message,) = quoted("gang-annotations.yaml")
    await say(api, message, "sweep-0", "sweep-1")


async def test_a_group_starts_and_both_of_its_pod_groups_are_running(api):
    await apply(api, documents("gang-group-master-workers.yaml"))
    await run(api, "launcher-0", "worker-0", "worker-1", "worker-2")
    both = rows("gang-group-master-workers.yaml")
    assert len(both) == 2
    for row in both:
        await shows(api, row)


async def test_without_its_last_worker_the_group_waits_and_says_so(api):
    await apply(api, documents("gang-group-master-workers.yaml")[:-1])
    (message,) = quoted("gang-group-master-workers.yaml")
    await say(api, message, "launcher-0", "worker-0", "worker-1")


async def test_a_non_strict_gang_holds_what_it_found_and_starts_with_the_rest(api):
    before, *gang = documents("gang-nonstrict.yaml")
    before["metadata"]["annotations"][RUN_SECONDS] = "4"  # of twenty: time enough for what is looked at here
    await apply(api, [before, *gang])
    (message,) = quoted("gang-nonstrict.yaml")
    await say(api, message, "collect-0", "collect-1", "collect-2")
    await hears(api, message, "collect")
    await shows(api, ("collect", "PreScheduling", "3", "0", "0", "0", "0"))
    await asyncio.sleep(0.5)  # the gang hears of its new status, and whoever comes now stands behind it in the queue
    (await api.create("pods", pod_json("latecomer", cpu=6))).ok()
    await say(api, "0/3 nodes are available: 3 Insufficient cpu. ...", "latecomer")
    await run(api, "collect-0", "collect-1", "collect-2")
    assert not (await pods(api))["latecomer"]["spec"].get("nodeName")


async def test_a_gang_that_is_too_big_says_why_and_holds_nothing(api):
    await apply(api, documents("gang-too-big.yaml"))
    message, _ = quoted("gang-too-big.yaml")
    await say(api, message, "big-0", "big-1", "big-2", "big-3")
    await hears(api, message, "big")
    for number in range(3):
        (await api.create("pods", pod_json(f"other-{number}", cpu=6))).ok()
    await run(api, "other-0", "other-1", "other-2")


async def test_with_a_lower_minimum_most_of_it_starts_and_the_rest_says_why_not(api):
    await apply(api, documents("gang-too-big.yaml"))
    message, left_over = quoted("gang-too-big.yaml")
    await say(api, message, "big-0", "big-1", "big-2", "big-3")
    (await api.patch(POD_GROUPS, "big", {"spec": {"minMember": 3}})).ok()
    await run(api, "big-0", "big-1", "big-2")
    await say(api, left_over, "big-3")


async def test_a_gang_of_high_priority_takes_the_place_of_a_low_one_and_of_nobody_else(api):
    objects = documents("gang-preempts.yaml")
    await apply(api, [each for each in objects if each["metadata"]["labels"]["when"] == "first"])
    await run(api, "nightly-0", "nightly-1", "nightly-2", "notebook")
    await apply(api, [each for each in objects if each["metadata"]["labels"]["when"] == "later"])
    await run(api, "release-0", "release-1")
    (message,) = quoted("gang-preempts.yaml")
    assert {("PodGroup", "release"), ("Pod", "release-0"), ("Pod", "release-1")} <= await told(api, message)
    assert (await pods(api)).keys() == {"nightly-2", "notebook", "release-0", "release-1"}


async def test_the_pods_of_a_job_start_when_all_of_them_are_there(api):
    pod_group, job = documents("gang-job.yaml")
    wanted = job["spec"]["parallelism"]

    async def made(count: int) -> bool:
        return len(await pods(api)) == count

    await apply(api, [pod_group, {**job, "spec": {**job["spec"], "parallelism": 2}}])
    await until(lambda: made(2), "the Job makes two pods")
    (message,) = quoted("gang-job.yaml")
    await say(api, message, *await pods(api))
    (await api.patch(RESOURCES["Job"], "finetune", {"spec": {"parallelism": wanted}})).ok()
    await until(lambda: made(wanted), "the Job makes the others")
    await run(api, *await pods(api))


@pytest.fixture
async def strict() -> AsyncIterator[Client]:
    """A real API server of its own, with the definitions: others come and go with theirs on the one that is shared."""
    with ControlPlane() as own:
        async with Client(own.url, token=ADMIN_TOKEN, ca_path=own.ca_path) as client:
            for definition in definitions():
                (await client.create("customresourcedefinitions", definition)).ok()
            yield client


@pytest.mark.real
async def test_every_field_is_known_to_a_real_api_server(strict):
    await until(lambda: is_served(strict), "PodGroups are served")
    for file in GANGS:
        for each in documents(file):
            place = RESOURCES[each["kind"]]
            dry = {} if each["kind"] == "PriorityClass" else {"dryRun": "All"}  # pods name it, and it must be there
            (await strict.create(place, each, fieldValidation="Strict", **dry)).ok()


async def is_served(api: Client) -> bool:
    return (await api.list(POD_GROUPS)).status == 200
