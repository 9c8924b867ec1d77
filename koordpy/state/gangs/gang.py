"""One gang: its members by standing, what they declare, and what follows from that.

Members are known by UID: a pod made again under the same name is a new member. Nothing is decided here.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from koordpy.api.gangs import DECLARES_NOTHING, GangDeclaration
from koordpy.api.podgroup import GROUPS, VERSION, PodGroup
from koordpy.api.times import seconds_of_instant
from koordpy.state.gangs.spec import GangDefaults, GangSpec, resolve
from koordpy.state.pods import PodRecord

_NOBODY = -(2**31)  # the lowest priority
_LONG_AGO = float("-inf")  # a PodGroup that does not say when it was made


class Finished(NamedTuple):
    """How and when a member ended whose pod is still there."""

    succeeded: bool  # and is not terminating: a terminating pod counts for nothing
    by_pod_group: bool  # belongs to it by a label that stands for a PodGroup
    created: float  # in seconds since the epoch, as is `at`
    at: float


class Gang:
    """One gang. Its members stand in exactly one of `pending`, `assumed`, `bound` and `absent`, each by UID."""

    __slots__ = (
        "_declared", "_labelled", "_priorities", "_protected", "absent", "accepted", "assumed", "bound", "created",
        "eviction_classes", "finished", "finishing", "id", "pending", "pod_groups", "recovering", "spec", "succeeded",
        "told", "waiting",
    )  # fmt: skip

    def __init__(self, gang_id: str) -> None:
        self.id = gang_id
        self.created = float("inf")  # of its PodGroup or its oldest member, in seconds since the epoch
        self.pod_groups: dict[str, PodGroup] = {}  # by API group
        self.pending: dict[str, PodRecord] = {}
        self.assumed: dict[str, PodRecord] = {}  # placed by us, and not yet seen bound
        self.bound: dict[str, PodRecord] = {}
        self.absent: dict[str, PodRecord] = {}  # gated, timed out, terminating, being evicted, or another scheduler's
        self.waiting: set[str] = set()  # of `assumed`: those that wait at Permit
        self.accepted: set[str] = set()  # of `assumed`: those whose binds the API server has accepted
        self.finished: dict[str, Finished] = {}  # members whose pods are still there, though they have run to their end
        self.succeeded: set[str] = set()  # of `finished`: those that count
        self.finishing = False  # a member has succeeded since it was started, also if its pod is gone by now
        self.recovering = False  # found half-bound when we began, or a bind of it failed; and not complete since
        self.told = ""  # what was last said about it as a whole
        self.spec = GangSpec()
        self._declared: dict[GangDeclaration, _Declarers] = {}
        self._labelled = 0  # members by a label that stands for a PodGroup
        self._priorities: Counter[int] = Counter()  # of pending and assumed members
        self.eviction_classes: Counter[int] = Counter()  # of bound members
        self._protected = 0  # bound members whose labels protect them

    @property
    def pod_group(self) -> PodGroup | None:
        """Its PodGroup; Koordinator's, should both API groups have one of the name."""
        return next((self.pod_groups[group] for group in GROUPS if group in self.pod_groups), None)

    @property
    def api_version(self) -> str:
        """Of its PodGroup."""
        return next((f"{group}/{VERSION}" for group in GROUPS if group in self.pod_groups), "")

    @property
    def expendable(self) -> int:
        """Bound members that may be evicted one by one; with one more, all of them go."""
        match self.spec.disruption:
            case "Single":
                return len(self.bound)
            case "All":
                return 0
            case _:
                return max(0, len(self.bound) + len(self.succeeded) - self.minimum)

    def goes_whole_within(self, classes: Container[int]) -> bool:
        """Whether all who run may be evicted by whoever may take from these eviction classes.

        Not while binds are in flight: who is not there yet could not be evicted with the others.
        """
        return self.may_go_whole and all(each in classes for each in self.eviction_classes)

    @property
    def may_go_whole(self) -> bool:
        """Nothing of its own keeps it from being evicted as a whole."""
        return not self.in_flight and not self._protected

    @property
    def evictability(self) -> tuple[bool, bool]:
        """Whether it may be evicted as a whole, and whether some member may be by itself."""
        return self.may_go_whole, self.expendable > 0

    @property
    def in_flight(self) -> int:
        """Members that are released to be bound, and not seen bound yet."""
        return len(self.assumed) - len(self.waiting)

    @property
    def by_pod_group(self) -> bool:
        """Some member says that there is a PodGroup: then there must be one."""
        return self._labelled > 0

    @property
    def initialised(self) -> bool:
        """There is a minimum, and the PodGroup that a label names."""
        return self.spec.minimum is not None and (bool(self.pod_groups) or not self.by_pod_group)

    @property
    def minimum(self) -> int:
        return self.spec.minimum or 0

    @property
    def started(self) -> bool:
        """A member of it was started and is still there. With the last of these gone, the next are a new start."""
        return bool(self.bound or self.succeeded or self.accepted)

    @property
    def counted(self) -> int:
        """Members that count as there, under the gang's match policy."""
        if self.spec.match_policy == "only-waiting" and not self.recovering:
            return len(self.assumed)
        return len(self.assumed) + len(self.bound) + len(self.succeeded)

    @property
    def collected(self) -> int:
        """Members that count as there, or could."""
        return self.counted + len(self.pending)

    @property
    def priority(self) -> int:
        """The highest of its members' that are not bound yet; nobody's is below that of none."""
        return max(self._priorities, default=_NOBODY)

    @property
    def is_bound(self) -> bool:
        """As many as it needs are running, or have finished well."""
        return len(self.bound) + len(self.succeeded) >= self.minimum

    @property
    def lacks_members(self) -> bool:
        """It was started, and fewer are there than it needs. One of which members succeed is merely finishing."""
        there = len(self.bound) + len(self.assumed) + len(self.succeeded)
        if not self.bound or there >= self.minimum or self.finishing:
            return False
        return self.pod_group is None or not self.pod_group.status.succeeded  # before we began, and its pod is gone

    def all_live(self) -> Iterator[PodRecord]:
        """Every member that is not finished."""
        for standing in (self.pending, self.assumed, self.bound, self.absent):
            yield from standing.values()

    @property
    def is_gone(self) -> bool:
        """Nobody speaks of it any more."""
        lists = (self.pending, self.assumed, self.bound, self.absent, self.finished, self.pod_groups)
        return not any(lists)

    def enter(self, record: PodRecord, standing: dict[str, PodRecord]) -> None:
        standing[record.uid] = record
        self.created = min(self.created, record.created)
        self._labelled += record.by_pod_group
        if standing is self.bound:
            self._protected += not record.evictable
            self.eviction_classes[record.eviction_class] += 1
        elif standing is not self.absent:
            self._priorities[record.priority] += 1

    def leave(self, record: PodRecord, standing: dict[str, PodRecord]) -> None:
        del standing[record.uid]
        self.waiting.discard(record.uid)
        self.accepted.discard(record.uid)
        self._labelled -= record.by_pod_group
        if standing is self.bound:
            self._protected -= not record.evictable
            _count_down(self.eviction_classes, record.eviction_class)
        elif standing is not self.absent:
            _count_down(self._priorities, record.priority)

    def standing_of(self, uid: str) -> dict[str, PodRecord] | None:
        for standing in (self.pending, self.assumed, self.bound, self.absent):
            if uid in standing:
                return standing
        return None

    def recount(self, members: Iterable[tuple[PodRecord, dict[str, PodRecord]]]) -> None:
        """Sort members anew, each with its standing; one that waited at Permit and is assumed goes on waiting."""
        waiting, accepted = set(self.waiting), set(self.accepted)
        for each in (
            self.pending,
            self.assumed,
            self.bound,
            self.absent,
            self.waiting,
            self.accepted,
            self._declared,
            self._priorities,
            self.eviction_classes,
        ):
            each.clear()
        self._labelled = self._protected = 0
        for record, standing in members:
            self.enter(record, standing)
            self.declare(None, record)
        self.waiting |= waiting & self.assumed.keys()
        self.accepted |= accepted & self.assumed.keys()

    # --- another start ---

    def begin_anew(self) -> None:
        """Its PodGroup is another one than before: what was said and how old it was belong to the predecessor."""
        self.told, self.finishing = "", False
        living = (*self.pending.values(), *self.assumed.values(), *self.bound.values())
        ages = [member.created for member in living]
        self.created = min([self._made, *ages] if self._made > _LONG_AGO else ages, default=float("inf"))
        self.count_succeeded()

    def settle(self) -> None:
        """Members have left: if none is there any more that was started, the next ones are a new start."""
        self.recovering &= self.started or self.in_flight > 0
        self.finishing &= self.started

    def finish(self, uid: str, how: Finished) -> None:
        """A member has run to its end, or its finished pod changed."""
        self.finished[uid] = how
        if how.succeeded and self._is_own(how, self._made):
            self.succeeded.add(uid)
        else:
            self.succeeded.discard(uid)
        self.finishing = bool(self.succeeded) or (self.finishing and self.started)

    def count_succeeded(self) -> None:
        """Of the finished members, those that succeeded after the PodGroup was made; before it, for another one."""
        made = self._made
        self.succeeded = {uid for uid, each in self.finished.items() if each.succeeded and self._is_own(each, made)}
        self.finishing = bool(self.succeeded) or (self.finishing and self.started)

    def _is_own(self, member: Finished, made: float) -> bool:
        """Times have whole seconds: who was created and succeeded in the second of the PodGroup belongs to it."""
        if not self.pod_groups:
            return not member.by_pod_group  # its PodGroup is gone, and the next one begins anew
        return member.at > made or member.created >= made

    @property
    def _made(self) -> float:
        """When its PodGroup was made, in seconds since the epoch."""
        pod_group = self.pod_group
        stamp = pod_group.metadata.creation_timestamp if pod_group is not None else None
        return seconds_of_instant(stamp) if stamp else _LONG_AGO

    # --- whose declaration counts ---

    def declarations(self) -> Iterator[tuple[GangDeclaration, PodRecord]]:
        """The different things that members declare, each with the oldest that does."""
        for declaration, declarers in self._declared.items():
            yield declaration, declarers.oldest

    def declare(self, before: PodRecord | None, now: PodRecord | None) -> bool:
        """A member declares something, something else, or is gone; says whether the configuration may have changed.

        A thousand members that declare the same must be cheap: a further one changes nothing unless it is older.
        """
        changed = False
        if now is not None and now.declaration != DECLARES_NOTHING:
            changed = now.declaration not in self._declared
            changed |= self._declared.setdefault(now.declaration, _Declarers()).add(now)
        if before is None or before.declaration == DECLARES_NOTHING:
            return changed
        if now is not None and now.declaration == before.declaration:
            return changed
        declarers = self._declared[before.declaration]
        changed |= declarers.remove(before)
        if not declarers:
            del self._declared[before.declaration]
        return changed

    def resolve(self, defaults: GangDefaults) -> None:
        oldest_first = sorted(self._declared.items(), key=lambda item: _by_age(item[1].oldest))
        self.spec = resolve((declaration for declaration, _ in oldest_first), self.pod_group, defaults)


class _Declarers:
    """Members that declare the same, and which of them is the oldest."""

    __slots__ = ("_by_age", "_members")

    def __init__(self) -> None:
        self._members: dict[str, PodRecord] = {}
        self._by_age: list[tuple[float, str, str]] = []  # a heap; those that are gone fall out at the top

    def __bool__(self) -> bool:
        return bool(self._members)

    @property
    def oldest(self) -> PodRecord:
        while self._by_age[0][-1] not in self._members:
            heapq.heappop(self._by_age)
        return self._members[self._by_age[0][-1]]

    def add(self, member: PodRecord) -> bool:
        """Says whether it is the oldest now."""
        if member.uid not in self._members:
            heapq.heappush(self._by_age, (*_by_age(member), member.uid))
        self._members[member.uid] = member
        if len(self._by_age) > 2 * len(self._members) + 8:  # most of it is gone, behind an old one that stays
            self._by_age = sorted((*_by_age(each), each.uid) for each in self._members.values())
        return self.oldest is member

    def remove(self, member: PodRecord) -> bool:
        """Says whether it was the oldest."""
        was_oldest = self.oldest.uid == member.uid
        del self._members[member.uid]
        return was_oldest


def _count_down(counts: Counter[int], key: int) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def _by_age(member: PodRecord) -> tuple[float, str]:
    return member.created, member.name
