"""Which pods are grouped together: branches of pods by the owner that their chain leads to.

A workload has one branch for each nearest owner: a JobSet as many as it has Jobs. Pods that stand for themselves are
workloads of one pod. The index decides nothing and does no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from koordpy.api.grouping import Owner
from koordpy.controllers.grouping.chain import Chain


@dataclass(slots=True)
class Grouped:
    """One workload: the UID of the owner that it is grouped by, and its branches."""

    uid: str
    branches: set[str] = field(default_factory=set)


class WorkloadIndex:
    """Chains by branch, workloads by UID of their owner."""

    def __init__(self) -> None:
        self._chains: dict[str, Chain] = {}
        self._workloads: dict[str, Grouped] = {}
        self._of_branch: dict[str, set[str]] = {}  # UIDs of the workloads of a branch
        self._branches_of_owner: dict[str, set[str]] = {}  # whose chains have the owner
        self._owners_of_branch: dict[str, set[str]] = {}

    def clear(self) -> None:
        for kept in (self._chains, self._workloads, self._of_branch, self._branches_of_owner, self._owners_of_branch):
            kept.clear()

    def get(self, uid: str) -> Grouped | None:
        return self._workloads.get(uid)

    def chain(self, branch: str) -> Chain:
        return self._chains.get(branch, Chain())

    def workloads_of(self, branch: str) -> set[str]:
        return set(self._of_branch.get(branch, ()))

    def branches_of(self, owner: str) -> set[str]:
        """The branches to look at again when an owner changes."""
        return set(self._branches_of_owner.get(owner, ()))

    def all(self) -> list[str]:
        return list(self._workloads)

    def note_read(self, branch: str, owner: str) -> None:
        """The branch depends on this owner from here on, also if its chain is not known yet."""
        self._branches_of_owner.setdefault(owner, set()).add(branch)
        self._owners_of_branch.setdefault(branch, set()).add(owner)

    def place(self, branch: str, chain: Chain, workloads: Iterable[str]) -> tuple[set[str], set[str]]:
        """Put a branch where its chain leads; returns the workloads it left, and owners that nobody needs any more."""
        now, before = set(workloads), self._of_branch.get(branch, set())
        for uid in before - now:
            self._leave(uid, branch)
        for uid in now:
            self._workloads.setdefault(uid, Grouped(uid)).branches.add(branch)
        self._chains[branch], self._of_branch[branch] = chain, now
        return before - now, self._forget_owners(branch, keep={owner.uid for owner in chain.owners})

    def remove(self, branch: str) -> tuple[set[str], set[str]]:
        """The branch has no pods any more; returns as `place`."""
        before = self._of_branch.pop(branch, set())
        for uid in before:
            self._leave(uid, branch)
        self._chains.pop(branch, None)
        return before, self._forget_owners(branch, keep=set())

    def owners_below(self, uid: str, owners: Iterable[Owner]) -> tuple[Owner, ...]:
        """Of a chain, nearest first, the owners below one of them."""
        found: list[Owner] = []
        for owner in owners:
            if owner.uid == uid:
                return tuple(found)
            found.append(owner)
        return ()

    def _leave(self, uid: str, branch: str) -> None:
        workload = self._workloads.get(uid)
        if workload is not None:
            workload.branches.discard(branch)
            if not workload.branches:
                del self._workloads[uid]

    def _forget_owners(self, branch: str, keep: set[str]) -> set[str]:
        unused: set[str] = set()
        for owner in self._owners_of_branch.get(branch, set()) - keep:
            branches = self._branches_of_owner[owner]
            branches.discard(branch)
            if not branches:
                del self._branches_of_owner[owner]
                unused.add(owner)
        if keep:
            self._owners_of_branch[branch] = keep
            for owner in keep:
                self._branches_of_owner.setdefault(owner, set()).add(branch)
        else:
            self._owners_of_branch.pop(branch, None)
        return unused
