"""One gang: its members by standing, what they declare, and what follows from that.

Members are known by UID: a pod made again under the same name is a new member. Nothing is decided here.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator

from koordpy.api.gangs import DECLARES_NOTHING, GangDeclaration
from koordpy.api.keys import DISRUPTION_MODE
from koordpy.api.podgroup import GROUPS, VERSION, PodGroup
from koordpy.state.gangs.spec import GangDefaults, GangSpec, resolve
from koordpy.state.pods import PodRecord

_NOBODY = -(2**31)  # the lowest priority


class Gang:
    """One gang. Its members stand in exactly one of `pending`, `assumed`, `bound` and `absent`, each by UID."""

    __slots__ = (
        "_declared", "_labelled", "_priorities", "absent", "assumed", "bound", "created",
        "finished", "id", "pending", "pod_groups", "recovering", "spec", "started", "succeeded", "told", "waiting",
    )  # fmt: skip

    def __init__(self, gang_id: str) -> None:
        self.id = gang_id
        self.created = float("inf")  # of its PodGroup or its oldest member, in seconds since the epoch
        self.pod_groups: dict[str, PodGroup] = {}  # by API group
        self.pending: dict[str, PodRecord] = {}
        self.assumed: dict[str, PodRecord] = {}  # placed by us, and not yet seen bound
        self.bound: dict[str, PodRecord] = {}
        self.absent: dict[str, PodRecord] = {}  # gated, timed out, terminating, or another scheduler's
        self.waiting: set[str] = set()  # of `assumed`: those that wait at Permit
        self.finished: set[str] = set()  # members whose pods are still there, though they have run to their end
        self.succeeded: set[str] = set()  # of `finished`: those that count
        self.started = False  # a member of it has been bound
        self.recovering = False  # found half-bound when we began, or a bind of it failed; and not complete since
        self.told = ""  # what was last said about it as a whole
        self.spec = GangSpec()
        self._declared: dict[GangDeclaration, _Declarers] = {}
        self._labelled = 0  # members by a label that stands for a PodGroup
        self._priorities: Counter[int] = Counter()  # of pending and assumed members

    @property
    def pod_group(self) -> PodGroup | None:
        """Its PodGroup; Koordinator's, should both API groups have one of the name."""
        return next((self.pod_groups[group] for group in GROUPS if group in self.pod_groups), None)

    @property
    def api_version(self) -> str:
        """Of its PodGroup."""
        return next((f"{group}/{VERSION}" for group in GROUPS if group in self.pod_groups), "")

    @property
    def goes_whole(self) -> bool:
        """Its PodGroup asks that its members are evicted together or not at all."""
        pod_group = self.pod_group
        return pod_group is not None and pod_group.metadata.annotations.get(DISRUPTION_MODE) == "All"

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
        if standing is self.pending or standing is self.assumed:
            self._priorities[record.priority] += 1

    def leave(self, record: PodRecord, standing: dict[str, PodRecord]) -> None:
        del standing[record.uid]
        self.waiting.discard(record.uid)
        self._labelled -= record.by_pod_group
        if standing is self.pending or standing is self.assumed:
            self._priorities[record.priority] -= 1
            if not self._priorities[record.priority]:
                del self._priorities[record.priority]

    def standing_of(self, uid: str) -> dict[str, PodRecord] | None:
        for standing in (self.pending, self.assumed, self.bound, self.absent):
            if uid in standing:
                return standing
        return None

    def recount(self, members: Iterable[tuple[PodRecord, dict[str, PodRecord]]]) -> None:
        """Sort members anew, each with its standing; one that waited at Permit and is assumed goes on waiting."""
        waiting = set(self.waiting)
        for each in (
            self.pending,
            self.assumed,
            self.bound,
            self.absent,
            self.waiting,
            self._declared,
            self._priorities,
        ):
            each.clear()
        self._labelled = 0
        for record, standing in members:
            self.enter(record, standing)
            self.declare(None, record)
        self.waiting |= waiting & self.assumed.keys()

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


def _by_age(member: PodRecord) -> tuple[float, str]:
    return member.created, member.name
