"""The book of queues: which pod is in which, and what follows for what each queue has, wants and is due.

The cluster state tells of every pod that appears, is assumed, is unreserved or leaves, at that very moment. So limits
hold at every instant, whatever the loop does meanwhile. A pod counts as allocated from its reservation on until it is
gone from its node, terminating or not. Pods outside of queues, and those of other schedulers, only lessen what there is
to be divided. The book decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from koordpy.api.podgroup.frontends import KAI
from koordpy.api.queue import Queue
from koordpy.quota.amounts import ANY_GPU, GPU, MILLI, K, amounts_of, kind_of
from koordpy.quota.levels import Floats
from koordpy.quota.preemptible import is_preemptible
from koordpy.quota.shares import divide
from koordpy.quota.tree import QueueTree, tree_of
from koordpy.quota.turns import Turns
from koordpy.quota.usage import Usage
from koordpy.state.arrays import Bools, Ints
from koordpy.state.changes import ChangeLog
from koordpy.state.events import ClusterEvent, EventKind
from koordpy.state.gangs.gang import Gang
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.nodes.resources import ResourceTable
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape

_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NOTHING: Ints = np.zeros(K, dtype=np.int64)


class Account(NamedTuple):
    """One pod, as it is counted."""

    row: int | None  # its queue; None: outside
    node: str
    amounts: Ints  # [K]
    allocated: bool
    requested: bool
    preemptible: bool


class QueueBook:
    """Every pod by UID, and the counters of the queues. It is the ledger of the cluster state."""

    def __init__(
        self,
        schedulers: Collection[str],
        changes: ChangeLog,
        *,
        default: str,
        gpus: tuple[str, ...] = ANY_GPU,
    ) -> None:
        self._schedulers, self._changes, self._gpus = schedulers, changes, gpus
        self.default = default  # the queue of jobs that name none, if it exists
        self._queues: dict[str, Queue] = {}
        self._accounts: dict[str, Account] = {}
        self.outside: Ints = _NOTHING.copy()  # [K] allocated to pods outside of queues
        self._outside_on: dict[str, Ints] = {}  # the same by node
        self._outside_version = 0
        self.tree: QueueTree = tree_of(())
        self.usage = Usage(self.tree)
        self.shares: Floats = np.zeros((0, K))
        self.turns = Turns(self.usage, self.shares)
        self._divided_at: object = None
        self.epoch = 0  # grows when fair shares, quotas or capacity change

    @property
    def in_use(self) -> bool:
        """There are Queue objects."""
        return bool(self._queues)

    # --- Queue objects ---

    def set_queue(self, name: str, queue: Queue | None) -> bool:
        """A Queue appeared, changed or left (None): whether the tree is another one. Then all pods are counted anew."""
        before = self._queues.get(name)
        if queue is None:
            self._queues.pop(name, None)
        else:
            self._queues[name] = queue
        if queue is not None and before is not None and _says_the_same(before, queue):
            return False
        if queue is None and before is None:
            return False
        self.epoch += 1
        self.tree = tree_of(self._queues.values())
        self.usage = Usage(self.tree)
        self.shares = np.zeros((len(self.tree), K))
        self.turns = Turns(self.usage, self.shares)
        self._accounts.clear()
        self.outside, self._divided_at = _NOTHING.copy(), None
        self._outside_on.clear()
        return True

    # --- pods ---

    def queue_of(self, record: PodRecord, gang: Gang | None) -> str:
        """The queue that a pod names or falls to, also one that does not exist; "" for a pod outside of queues."""
        if not self._queues:
            return ""
        named = gang.spec.queue if gang is not None else record.declared_queue
        return named or (self.default if self.default in self.tree.rows else "")

    def is_preemptible(self, record: PodRecord, gang: Gang | None) -> bool:
        """Whether a pod can be taken away from its queue."""
        said = gang.spec.preemptibility if gang is not None else ""
        priority = record.priority
        if gang is not None and gang.front_end is KAI and gang.spec.priority is not None:
            priority = gang.spec.priority
        return is_preemptible(said, record.labels, priority)

    def count(self, uid: str, record: PodRecord | None) -> None:
        """A pod appeared, changed, was assumed or unreserved, or is gone (None)."""
        if not self._queues:
            return
        before = self._accounts.pop(uid, None)
        now = self._account(record) if record is not None else None
        if now is not None:
            self._accounts[uid] = now
        if before is not None and now is not None and _equal(before, now):
            return
        if before is not None:
            self._book(before, -1)
        if now is not None:
            self._book(now, 1)
        if before is not None and before.row is not None and (now is None or _is_less(now, before)):
            self._changes.add_event(ClusterEvent(EventKind.QUEUES, ""))

    def _account(self, record: PodRecord) -> Account | None:
        is_ours = record.scheduler in self._schedulers
        if not record.node and not is_ours:
            return None
        row = self.tree.rows.get(record.queue) if record.queue else None
        amounts = self.amounts(record.own_shape)
        waits = is_ours and (bool(record.node) or record.schedulable)
        return Account(row, record.node, amounts, bool(record.node), waits, record.preemptible)

    def suppose(self, record: PodRecord, sign: int) -> None:
        """A pod that is only supposed to run, in the copy of a question: nobody hears of it again."""
        row = self.tree.rows.get(record.queue) if record.queue else None
        amounts = self.amounts(record.own_shape) * sign
        if row is not None:
            self.usage.allocate(row, amounts, preemptible=record.preemptible)
        else:
            self.outside += amounts

    def _book(self, account: Account, sign: int) -> None:
        amounts = account.amounts * sign
        if account.row is None:
            if account.allocated:
                self.outside += amounts
                self._outside_on[account.node] = self._outside_on.get(account.node, _NOTHING) + amounts
                self._outside_version += 1
            return
        if account.requested:
            self.usage.request(account.row, amounts)
        if account.allocated:
            self.usage.allocate(account.row, amounts, preemptible=account.preemptible)
            self.turns.touch(account.row)

    def amounts(self, shape: Shape | None) -> Ints:
        """What a pod of a shape asks for, `[K]`."""
        if shape is None:
            return _NOTHING
        return shape.remember("queue amounts", 0, lambda: amounts_of(shape.traits.needed, self._gpus))

    # --- fair shares ---

    def divide(self, nodes: NodeColumns, resources: ResourceTable) -> None:
        """Bring the fair shares up to date: they change with what is asked for, with nodes and with pods outside."""
        outside = self._outside_version, self.outside.tobytes()
        now = (self.usage.asked_version, nodes.static_generation, nodes.size_generation, outside)
        if now == self._divided_at:
            return
        self._divided_at = now
        shares = divide(self._capacity(nodes, resources), self.tree, self.usage.asked())
        if not np.array_equal(shares, self.shares):
            self.epoch += 1
        self.shares = shares
        self.turns.share(shares)

    def _capacity(self, nodes: NodeColumns, resources: ResourceTable) -> Ints:
        """`[K]`: allocatable of the nodes that take pods, less what is on them outside of queues."""
        nodes.fit_resources()
        closed = nodes.live & (nodes.unschedulable | _not_ready(nodes))
        usable = nodes.live & ~closed
        found = -self.outside
        for row in np.flatnonzero(closed).tolist():  # few, as a rule
            found += self._outside_on.get(nodes.names[row], _NOTHING)
        for row, name in enumerate(resources.names):
            kind = kind_of(name, self._gpus)
            if kind is not None:
                found[kind] += int(nodes.allocatable[row][usable].sum()) * (MILLI if kind == GPU else 1)
        return found


def _not_ready(nodes: NodeColumns) -> Bools:
    """`[N]`: nodes whose kubelet does not answer, as their taints say."""
    bad = [code for code, taints in enumerate(nodes.taint_sets) if any(taint.key in _NOT_READY for taint in taints)]
    found: Bools = np.isin(nodes.taint_code, bad)
    return found


def _equal(one: Account, other: Account) -> bool:
    return one.amounts is other.amounts and (*one[:2], *one[3:]) == (*other[:2], *other[3:])


def _is_less(now: Account, before: Account) -> bool:
    return (before.allocated and not now.allocated) or (before.requested and not now.requested)


def _says_the_same(one: Queue, other: Queue) -> bool:
    """Its status is what controllers write."""
    return one.spec == other.spec and one.metadata.creation_timestamp == other.metadata.creation_timestamp
