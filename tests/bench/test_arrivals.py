"""Creating objects: pods name their owner by the UID that the API server gave it."""

from typing import Any

from bench.live import manifests
from bench.live.arrivals import create_gangs, stream
from bench.live.objects import Gang
from tests.controlplane.client import Reply


class ServerThatGivesUids:
    """Keeps what is created, each with a UID made of its name."""

    def __init__(self) -> None:
        self.created: dict[str, dict[str, Any]] = {}

    async def create(self, _: str, body: dict[str, Any], *, namespace: str | None = None) -> Reply:
        assert namespace is None
        name = body["metadata"]["name"]
        self.created[name] = body
        return Reply(201, {"metadata": {"name": name, "uid": f"uid of {name}"}})

    def owner_of(self, pod: str) -> str:
        (owner,) = self.created[pod]["metadata"]["ownerReferences"]
        return owner["uid"]


JOBS = [manifests.koordinator(Gang(name, 2, job=True), "ns") for name in ("a", "b")]


async def test_pods_name_their_job_by_its_uid():
    server = ServerThatGivesUids()
    asked = await create_gangs(server, JOBS)
    assert asked.keys() == {"a-0000", "a-0001", "b-0000", "b-0001"}
    assert {name: server.owner_of(name) for name in asked} == {
        "a-0000": "uid of a", "a-0001": "uid of a", "b-0000": "uid of b", "b-0001": "uid of b",
    }  # fmt: skip


async def test_so_they_do_in_a_stream():
    server = ServerThatGivesUids()
    await stream(server, [(0.0, job) for job in JOBS])
    assert server.owner_of("b-0001") == "uid of b"


async def test_a_pod_without_owner_stays_without():
    server = ServerThatGivesUids()
    await create_gangs(server, [manifests.koordinator(Gang("plain", 1), "ns")])
    assert "ownerReferences" not in server.created["plain-0000"]["metadata"]
