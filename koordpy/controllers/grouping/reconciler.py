"""The reconciler of workloads: finds the owner of a branch of pods, then makes the PodGroup of the workload true.

Two kinds of keys share the work queue. A branch is walked up its chain of owners, which costs a read for each owner
that is not known yet, and is put to its workload. A workload is computed from everything known at this moment, so that
a failed write needs no memory but its place in the work queue; after a restart the same comes out.

What cannot be understood is told to its people, and its pods wait. Nothing else is touched by it.
"""

from __future__ import annotations

from collections.abc import Sequence

from koordpy.api.errors import MalformedObject, MalformedValue
from koordpy.api.grouping import Gang, Owner, Workload, WorkloadPod
from koordpy.api.keys import RUNAI_POD_GROUP_NAME
from koordpy.api.meta import OwnerReference
from koordpy.controllers.grouping.chain import Chain, walk
from koordpy.controllers.grouping.discovery import NotServed
from koordpy.controllers.grouping.kinds.plain import pod_alone
from koordpy.controllers.grouping.kinds.spark import is_spark, spark
from koordpy.controllers.grouping.kinds.table import Kinds
from koordpy.controllers.grouping.owners import Owners
from koordpy.controllers.grouping.podgroups import Wanted, wanted_of
from koordpy.controllers.grouping.pods import PodIndex, is_left_to_others, is_ours, opts_out
from koordpy.controllers.grouping.problems import AGAIN_S, Problems
from koordpy.controllers.grouping.surroundings import PriorityClassNames, SpecOwners
from koordpy.controllers.grouping.wakeups import Key, Wakeups
from koordpy.controllers.grouping.workloads import WorkloadIndex
from koordpy.controllers.grouping.writer import Writer
from koordpy.kube.client import NotLeading
from koordpy.kube.errors import ApiError, Unavailable

_GONE_S = 60.0  # after which what is gone, by an answer of the API server, is asked for again if it is still there
_PAUSE_PER_POD_S = 0.00005  # a reconcile goes over all pods: with ten thousand of them there are two a second


class GroupingReconciler:
    """Computes from the indexes, reads through `owners`, and writes through `writer`."""

    def __init__(
        self,
        *,
        pods: PodIndex,
        owners: Owners,
        kinds: Kinds,
        classes: PriorityClassNames,
        specs: SpecOwners,
        workloads: WorkloadIndex,
        writer: Writer,
        problems: Problems,
        wakeups: Wakeups,
    ) -> None:
        self._pods, self._owners, self._kinds, self._classes, self._specs = pods, owners, kinds, classes, specs
        self._workloads, self._writer, self._problems, self._wakeups = workloads, writer, problems, wakeups

    async def reconcile(self, key: Key) -> float:
        """Bring a branch to its workload, or the PodGroups of a workload up to date."""
        if key.what == "branch":
            await self._reconcile_branch(key.uid)
            return 0.0
        return await self._reconcile_workload(key.uid)

    async def _reconcile_branch(self, branch: str) -> None:
        pods = self._pods.branch(branch)
        if not pods:
            self._settle(*self._workloads.remove(branch))
            return
        chain = await self._walk(branch, pods)
        if chain is None:
            return
        if self._is_left(chain):
            self._settle(*self._workloads.place(branch, chain, ()))
            return
        if any(opts_out(owner.metadata) for owner in chain.owners):
            self._settle(*self._workloads.place(branch, chain, ()))
            if not await self._writer.leave_alone([pod for pod in pods if not pod.terminating]):
                self._wakeups.look_again(Key("branch", branch), _GONE_S)
            return
        if chain.orphaned:
            self._settle(*self._workloads.place(branch, chain, ()))
            strays = [pod for pod in pods if RUNAI_POD_GROUP_NAME not in pod.annotations]  # not those of a deleted job
            await self._problems.tell("its owner is gone; the garbage collector will delete it", strays)
            if strays:
                self._wakeups.look_again(Key("branch", branch), _GONE_S)
            return
        if chain.doubt:
            await self._problems.tell(f"{chain.doubt}; grouped without them", pods)
        index = self._kinds.grouped_by(chain.owners)
        found = [chain.owners[index].uid] if index >= 0 else [pod.uid for pod in pods]
        self._settle(*self._workloads.place(branch, chain, found))
        self._wakeups.look_at(*found)

    async def _walk(self, branch: str, pods: list[WorkloadPod]) -> Chain | None:
        """The chain of a branch; None if there is none that can be used."""

        async def read(reference: OwnerReference, namespace: str) -> Owner | None:
            self._workloads.note_read(branch, reference.uid)  # first: it may change while it is being read
            return await self._owners.read(reference, namespace)

        try:
            return await walk(pods[0].meta, read, self._kinds)
        except MalformedValue as error:
            await self._problems.tell(str(error), pods)
            self._wakeups.look_again(Key("branch", branch), AGAIN_S)
            return None
        except (NotServed, MalformedObject) as error:
            await self._problems.tell(str(error), pods)
            raise Unavailable(str(error)) from None
        except NotLeading:
            raise
        except ApiError as error:
            await self._problems.tell(f"its owners cannot be read: {error}", pods)
            raise

    def _is_left(self, chain: Chain) -> bool:
        """Whether a front-end of its own takes care of it."""
        return any(
            owner.uid in self._specs or is_left_to_others(OwnerReference(owner.kind, api_version=owner.api_version))
            for owner in chain.owners
        )

    def _settle(self, left: set[str], unused: set[str]) -> None:
        """Workloads that lost a branch are looked at again; owners that nobody leads to are let go."""
        self._wakeups.look_at(*left)
        for uid in unused:
            self._owners.release(uid)
        self._problems.solved(unused)

    async def _reconcile_workload(self, uid: str) -> float:
        owner, pods, chain = self._assembled(uid)
        if owner is None or not pods:
            self._wakeups.follow(uid, ())
            return 0.0
        try:
            wanted = self._wanted(owner, pods, chain)
        except MalformedValue as error:
            await self._problems.tell(f"{owner}: {error}", _alive(pods), owner)
            self._wakeups.look_again(Key("workload", uid), AGAIN_S)
            return 0.0
        self._wakeups.follow(uid, [each.key for each in wanted])
        try:
            told = [await self._make_true(each) for each in wanted]
        except MalformedValue as error:
            await self._problems.tell(str(error), _alive(pods), owner)
            raise Unavailable(str(error)) from None
        except NotLeading:
            raise
        except ApiError as error:
            await self._problems.tell(f"its PodGroup cannot be written, trying again: {error}", _alive(pods), owner)
            raise
        self._problems.solved([uid, *(pod.uid for pod in pods)])
        if not all(told):
            self._wakeups.look_again(Key("workload", uid), _GONE_S)
        return _PAUSE_PER_POD_S * len(pods)

    def _assembled(self, uid: str) -> tuple[Owner | None, tuple[WorkloadPod, ...], Sequence[Owner]]:
        """The owner of a workload, its pods, the oldest first, and the chain of the oldest."""
        grouped, owner = self._workloads.get(uid), self._owners.known(uid)
        if grouped is None or owner is None:
            return None, (), ()
        found: list[tuple[WorkloadPod, Chain]] = []
        for branch in grouped.branches:
            chain = self._workloads.chain(branch)
            leads_here = any(each.uid == uid for each in chain.owners)
            found += [(pod, chain) for pod in self._pods.branch(branch) if leads_here or pod.uid == uid]
        found = sorted(((pod, chain) for pod, chain in found if is_ours(pod, owner)), key=lambda each: each[0].age)
        if not found:
            return owner, (), ()
        owners = [self._owners.known(each.uid) or each for each in found[0][1].owners]
        return owner, tuple(pod for pod, _ in found), owners

    def _wanted(self, owner: Owner, pods: tuple[WorkloadPod, ...], chain: Sequence[Owner]) -> list[Wanted]:
        """The PodGroups of a workload."""
        gangs = self._gangs(Workload(owner, pods, self._below(owner, pods)))
        return [
            wanted
            for gang in gangs
            if _alive(gang.pods) and (wanted := wanted_of(gang, owner, chain, self._classes.names)) is not None
        ]

    def _gangs(self, workload: Workload) -> Sequence[Gang]:
        owner = workload.owner
        if (owner.api_version, owner.kind) != ("v1", "Pod"):
            return self._kinds.of(owner.group, owner.kind).gangs(workload)
        if is_spark(owner.metadata.labels):
            return spark(workload)
        return [pod_alone(pod) for pod in workload.pods]

    def _below(self, owner: Owner, pods: tuple[WorkloadPod, ...]) -> tuple[Owner, ...]:
        grouped = self._workloads.get(owner.uid)
        found: dict[str, Owner] = {}
        for branch in sorted(grouped.branches) if grouped is not None and pods else ():
            for each in self._workloads.owners_below(owner.uid, self._workloads.chain(branch).owners):
                found[each.uid] = self._owners.known(each.uid) or each
        return tuple(found.values())

    async def _make_true(self, wanted: Wanted) -> bool:
        """The PodGroup first, its pods then: none is counted for a gang with a wrong minimum. Whether all are told."""
        await self._writer.ensure(wanted)
        return await self._writer.join(_alive(wanted.gang.pods), wanted.name, wanted.gang.subgroup_of)


def _alive(pods: tuple[WorkloadPod, ...]) -> tuple[WorkloadPod, ...]:
    return tuple(pod for pod in pods if not pod.terminating and not pod.finished)
