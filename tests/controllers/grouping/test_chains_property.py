"""Whatever the owners of pods are like: nothing crashes, pods of two owners never share a group, gangs stay whole.

Owners form random graphs: cycles, references to nothing, several references, owners that were made again under their
name, kinds that may not be read. A second, plain reading of the rules says where each pod belongs.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Owner, WorkloadPod
from koordpy.api.meta import ObjectMeta, OwnerReference
from koordpy.api.pod import Pod, PodSpec
from koordpy.controllers.grouping.kinds.table import Kinds
from koordpy.controllers.grouping.podgroups import Wanted
from koordpy.controllers.grouping.pods import PodIndex
from koordpy.controllers.grouping.reconciler import GroupingReconciler
from koordpy.controllers.grouping.surroundings import PriorityClassNames, SpecOwners
from koordpy.controllers.grouping.wakeups import Key, Wakeups
from koordpy.controllers.grouping.workloads import WorkloadIndex
from koordpy.kube.errors import ApiError, Forbidden

pytestmark = pytest.mark.random

KINDS = {
    "PyTorchJob": "kubeflow.org/v1",
    "Job": "batch/v1",
    "ReplicaSet": "apps/v1",
    "Deployment": "apps/v1",
    "Workflow": "argoproj.io/v1alpha1",
    "Frobnicator": "example.com/v1",
    "Secret": "example.com/v1",  # may not be read
}
WORKERS = 3
BODY = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": WORKERS}}}}


class Link(NamedTuple):
    """A reference to an owner by its number; one of an earlier owner of that name has another UID."""

    number: int
    controller: bool
    stale: bool


class Graph(NamedTuple):
    kinds: list[str]
    links: list[list[Link]]  # of each owner
    pods: list[list[Link]]
    missing: set[int]
    opted_out: set[int]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(1, 6))
    link = st.builds(Link, st.integers(0, count - 1), st.booleans(), st.sampled_from([False] * 9 + [True]))
    links = st.lists(link, max_size=2)
    numbers = st.sets(st.integers(0, count - 1), max_size=1)
    return Graph(
        draw(st.lists(st.sampled_from(list(KINDS)), min_size=count, max_size=count)),
        draw(st.lists(links, min_size=count, max_size=count)),
        draw(st.lists(st.lists(link, max_size=3), min_size=1, max_size=6)),
        draw(numbers),
        draw(numbers),
    )


def references(graph: Graph, links: list[Link]) -> tuple[OwnerReference, ...]:
    made, controlled = [], False
    for link in links:
        controller = link.controller and not controlled  # the API server allows one
        controlled = controlled or controller
        kind = graph.kinds[link.number]
        uid = f"uid-{link.number}" + ("-earlier" if link.stale else "")
        made.append(OwnerReference(kind, f"o{link.number}", uid, KINDS[kind], controller))
    return tuple(made)


class Server:
    """The owners as `Owners` shows them, and everything that was written."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.groups: dict[str, Wanted] = {}
        self.group_of: dict[str, str] = {}  # by UID of the pod
        self.left_alone: set[str] = set()
        self.told: set[str] = set()

    def known(self, uid: str) -> Owner | None:
        number = int(uid.split("-")[1])
        if uid.startswith("pod") or uid.endswith("-earlier") or number in self.graph.missing:
            return self.pods.get(uid) if uid.startswith("pod") else None
        kind = self.graph.kinds[number]
        said = {"kai.scheduler/skip-podgrouper": "true"} if number in self.graph.opted_out else {}
        linked = references(self.graph, self.graph.links[number])
        meta = ObjectMeta(f"o{number}", "default", uid, annotations=said, owner_references=linked)
        return Owner(KINDS[kind], kind, meta, BODY if kind == "PyTorchJob" else {})

    async def read(self, reference: OwnerReference, namespace: str) -> Owner | None:
        if reference.kind == "Secret":
            raise Forbidden("you may not")
        return self.known(reference.uid)

    def release(self, uid: str) -> None: ...

    def solved(self, uids: Any) -> None: ...

    async def ensure(self, wanted: Wanted) -> None:
        before = self.groups.setdefault(wanted.key, wanted)
        assert before.owner.uid == wanted.owner.uid
        self.groups[wanted.key] = wanted

    async def join(self, pods: tuple[WorkloadPod, ...], name: str, subgroup_of: Any) -> None:
        self.group_of |= {pod.uid: f"default/{name}" for pod in pods}

    async def leave_alone(self, pods: list[WorkloadPod]) -> None:
        self.left_alone |= {pod.uid for pod in pods}

    async def tell(self, problem: str, pods: Any, owner: Owner | None = None) -> None:
        assert problem
        self.told |= {pod.uid for pod in pods}

    pods: dict[str, Owner]


async def run(graph: Graph) -> Server:
    server, keys = Server(graph), deque[Key]()
    workloads = WorkloadIndex()
    wakeups = Wakeups(workloads, keys.append)
    pods = PodIndex(["ours"], wakeups.pod_changed)
    metas = [
        ObjectMeta(f"p{n}", "default", f"pod-{n}", owner_references=references(graph, links))
        for n, links in enumerate(graph.pods)
    ]
    server.pods = {meta.uid: Owner("v1", "Pod", meta) for meta in metas}
    reconciler = GroupingReconciler(
        pods=pods, owners=server, kinds=Kinds(), classes=PriorityClassNames(lambda: None),
        specs=SpecOwners(lambda _: None), workloads=workloads, writer=server, problems=server, wakeups=wakeups,
    )  # type: ignore[arg-type]  # fmt: skip
    for meta in metas:
        pods.upsert(Pod(meta, PodSpec(scheduler_name="ours")))
    for _ in range(1000):
        if not keys:
            return server
        with contextlib.suppress(ApiError):  # the work queue would try again
            await reconciler.reconcile(keys.popleft())
    raise AssertionError("it never comes to rest")


def belongs_to(graph: Graph, links: list[Link]) -> str:
    """The rules once more: the UID of the owner, `itself`, `nobody` (left alone), or `waits`."""
    chain: list[int] = []
    while links:
        controllers = [link for link in links if link.controller]
        if not controllers and len(links) > 1:
            break
        link = (controllers or links)[0]
        if link.number in chain and not link.stale:
            return "waits"  # a cycle
        if graph.kinds[link.number] == "Secret":
            break
        if link.stale or link.number in graph.missing:
            if not chain:
                return "waits"
            break
        chain.append(link.number)
        links = graph.links[link.number]
    if graph.opted_out.intersection(chain):
        return "nobody"
    gangs = [number for number in chain if graph.kinds[number] == "PyTorchJob"]
    others = [number for number in chain if graph.kinds[number] != "Workflow"]
    return f"uid-{(gangs or others)[-1]}" if gangs or others else "itself"


@settings(max_examples=400, deadline=None)
@given(graphs())
def test_owners_of_any_shape_crash_nothing_and_mix_nobody(graph):
    server = asyncio.run(run(graph))
    owner_of_group: dict[str, str] = {}
    for number, links in enumerate(graph.pods):
        uid = f"pod-{number}"
        where, group = belongs_to(graph, links), server.group_of.get(uid)
        if where in ("waits", "nobody"):
            assert group is None
            assert (uid in server.left_alone) == (where == "nobody")
            continue
        if group is None:  # only what starts without a group may do without one
            assert all(reference.kind == "ReplicaSet" for reference in references(graph, links))
            continue
        wanted = server.groups[group]
        assert owner_of_group.setdefault(group, where if where != "itself" else uid) == (
            where if where != "itself" else uid
        )
        if where.startswith("uid-") and graph.kinds[int(where[4:])] == "PyTorchJob":
            assert (wanted.owner.uid, wanted.gang.minimum) == (where, WORKERS)


@given(st.lists(st.sampled_from(["spec", "status"]), max_size=2), st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["replicas", "Worker", "pytorchReplicaSpecs", "replicatedJobs", "name", "workerGroupSpecs",
                         "leaderWorkerTemplate", "size", "template", "metadata", "annotations", "mpiReplicaSpecs"]),
        inner, max_size=4),
    max_leaves=12,
))  # fmt: skip
def test_a_body_of_any_shape_is_a_gang_or_not_understood(parts, body):
    from koordpy.api.grouping import Workload
    from koordpy.controllers.grouping.kinds.table import BUILT_IN

    for kind in BUILT_IN:
        owner = Owner(f"{kind.group}/v1", kind.kind, ObjectMeta("o", "default", "u"), dict.fromkeys(parts, body))
        try:
            gangs = kind.gangs(Workload(owner, (WorkloadPod(ObjectMeta("p", "default", "p")),)))
        except MalformedValue:
            continue
        assert all(gang.pods for gang in gangs)
