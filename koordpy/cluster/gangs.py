"""Gangs: their members by standing, their configuration, and which of them start together.

A gang is here as long as somebody speaks of it: a pod that belongs to it, a PodGroup, or a finished pod that counts. It
may be here before its PodGroup, collecting pods, and after its last pod. Members are known by UID: a pod made again
under the same name is a new member. Nothing is decided here.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

from koordpy.api.gangs import SAYS_NOTHING, Wishes, wishes_of
from koordpy.api.keys import DISRUPTION_MODE
from koordpy.api.podgroup import GROUPS, VERSION, PodGroup
from koordpy.api.times import seconds_of_instant
from koordpy.cluster.gangspec import GangDefaults, GangSpec, resolve
from koordpy.cluster.pods import PodRecord

GangGroup = tuple[str, ...]  # ids of gangs that start together, sorted
_NOBODY = -(2**31)  # the lowest priority


class Gang:
    """One gang. Its members stand in exactly one of `pending`, `assumed`, `bound` and `absent`, each by UID."""

    __slots__ = (
        "_labelled", "_priorities", "_voices", "absent", "assumed", "bound", "created", "finished", "id", "pending",
        "pod_groups", "recovering", "spec", "started", "succeeded", "told", "waiting",
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
        self._voices: dict[Wishes, _Voice] = {}
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
        """There is a minimum, and the PodGroup that a label promised."""
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

    # --- whose word counts ---

    def voices(self) -> Iterator[tuple[Wishes, PodRecord]]:
        """The different things that members say, each with the oldest that says it."""
        for wishes, voice in self._voices.items():
            yield wishes, voice.oldest

    def hear(self, before: PodRecord | None, now: PodRecord | None) -> bool:
        """A member says something, says something else or is gone; says whether the configuration may have changed.

        A thousand members that say the same thing must be cheap: it changes nothing if an older one has said it.
        """
        changed = False
        if now is not None and now.wishes != SAYS_NOTHING:
            changed = now.wishes not in self._voices
            changed |= self._voices.setdefault(now.wishes, _Voice()).add(now)
        if before is not None and before.wishes != SAYS_NOTHING and (now is None or now.wishes != before.wishes):
            voice = self._voices[before.wishes]
            changed |= voice.remove(before)
            if not voice:
                del self._voices[before.wishes]
        return changed

    def resolve(self, defaults: GangDefaults) -> None:
        oldest_first = sorted(self._voices.items(), key=lambda said: _by_age(said[1].oldest))
        self.spec = resolve((wishes for wishes, _ in oldest_first), self.pod_group, defaults)


class _Voice:
    """Members that say the same, and which of them is the oldest."""

    __slots__ = ("_by_age", "_records")

    def __init__(self) -> None:
        self._records: dict[str, PodRecord] = {}
        self._by_age: list[tuple[float, str, str]] = []  # a heap; those that are gone fall out at the top

    def __bool__(self) -> bool:
        return bool(self._records)

    @property
    def oldest(self) -> PodRecord:
        while self._by_age[0][-1] not in self._records:
            heapq.heappop(self._by_age)
        return self._records[self._by_age[0][-1]]

    def add(self, record: PodRecord) -> bool:
        """Says whether it is the oldest now."""
        if record.uid not in self._records:
            heapq.heappush(self._by_age, (*_by_age(record), record.uid))
        self._records[record.uid] = record
        if len(self._by_age) > 2 * len(self._records) + 8:  # most of it is gone, behind an old one that stays
            self._by_age = sorted((*_by_age(each), each.uid) for each in self._records.values())
        return self.oldest is record

    def remove(self, record: PodRecord) -> bool:
        """Says whether it was the oldest."""
        was_oldest = self.oldest.uid == record.uid
        del self._records[record.uid]
        return was_oldest


def _by_age(record: PodRecord) -> tuple[float, str]:
    return record.created, record.name


class GangTable:
    """Every gang by id, and who waits for whom."""

    def __init__(self) -> None:
        self._gangs: dict[str, Gang] = {}
        self._finished: dict[str, str] = {}  # UID of a finished member -> its gang
        self._abandoned: set[str] = set()  # UIDs of members that timed out, until the API server says so
        self._holders: set[str] = set()  # gangs of which somebody waits at Permit, and some that did
        self._lists: dict[str, GangGroup] = {}  # gang -> others that it starts with, if any
        self._listed_by: defaultdict[str, set[str]] = defaultdict(set)
        self._groups: dict[str, GangGroup] = {}  # what `group_of` has found out
        self.schedulers: Collection[str] = ()  # ours: pods of others are never members that count
        self.defaults = GangDefaults()
        self.news: set[GangGroup] = set()  # groups that something happened to, until somebody takes note

    def get(self, gang_id: str) -> Gang | None:
        return self._gangs.get(gang_id)

    def __iter__(self) -> Iterator[Gang]:
        return iter(self._gangs.values())

    def __len__(self) -> int:
        return len(self._gangs)

    # --- what the API server says ---

    def member_changed(self, before: PodRecord | None, record: PodRecord) -> None:
        """A pod appeared or changed."""
        if before is not None and before.gang and before.gang != record.gang:
            self.member_gone(before)
            before = None
        if not record.gang:
            return
        if record.timed_out:
            self._abandoned.discard(record.uid)
        else:
            record.timed_out = record.uid in self._abandoned  # this was said before the API server knew
        gang = self._open(record.gang)
        was, waits = gang.standing_of(record.uid), record.uid in gang.waiting
        if was is not None:
            gang.leave(was[record.uid], was)
        now = self._standing(gang, record)
        gang.enter(record, now)
        if waits and now is gang.assumed:
            gang.waiting.add(record.uid)
        if gang.hear(before, record):
            self._resolve(gang)
        if record.bound and now is not gang.absent:
            self.has_begun(gang)
        if (
            before is None or was is not now or before.shape is not record.shape
            or before.priority != record.priority or before.wishes != record.wishes
            or before.nominated_node != record.nominated_node
        ):  # fmt: skip
            self._tell(gang)

    def member_gone(self, record: PodRecord) -> None:
        """A pod is gone or finished."""
        gang = self._gangs.get(record.gang)
        standing = gang.standing_of(record.uid) if gang is not None else None
        if gang is None or standing is None:
            return
        self._tell(gang)
        self._abandoned.discard(record.uid)
        gang.leave(record, standing)
        if gang.hear(record, None):
            self._resolve(gang)
        self._drop_if_gone(gang)

    def member_finished(self, uid: str, gang_id: str, *, succeeded: bool, was_bound: bool) -> None:
        """A member has run to its end. One that succeeded is counted for as long as its pod is there."""
        if self._finished.get(uid) == gang_id:
            return
        self.finished_gone(uid)  # from the gang that it was in before, should its owner have moved it
        self._finished[uid] = gang_id
        gang = self._open(gang_id)
        if was_bound:
            self.has_begun(gang)  # first: it may still be among the bound ones, and must not count twice
        gang.finished.add(uid)
        if succeeded:
            gang.succeeded.add(uid)
            if uid not in gang.bound:  # it was on its way out, and has come to a good end all the same
                gang.recovering &= not gang.is_bound
        self._tell(gang)

    def finished_gone(self, uid: str) -> None:
        """A pod was deleted that may have been counted as finished."""
        gang = self._gangs.get(self._finished.pop(uid, ""))
        if gang is not None:
            gang.finished.discard(uid)
            gang.succeeded.discard(uid)
            self._tell(gang)
            self._drop_if_gone(gang)

    def set_pod_group(self, api_group: str, gang_id: str, pod_group: PodGroup | None) -> None:
        """A PodGroup appeared, changed or left (None)."""
        if pod_group is None and gang_id not in self._gangs:
            return
        gang = self._open(gang_id)
        before = gang.pod_groups.get(api_group)
        if pod_group is None:
            gang.pod_groups.pop(api_group, None)
        else:
            gang.pod_groups[api_group] = pod_group
            if before is not None and _says_the_same(before, pod_group):
                return  # its status, most likely: that we keep ourselves, and it is no news
            if pod_group.metadata.creation_timestamp:
                gang.created = min(gang.created, seconds_of_instant(pod_group.metadata.creation_timestamp))
        self._resolve(gang)
        self._tell(gang)
        self._drop_if_gone(gang)

    # --- what the scheduler does ---

    def has_begun(self, gang: Gang) -> None:
        """A member is bound: from here on the gang has started."""
        gang.recovering &= not gang.is_bound
        if not gang.started:
            gang.started = True
            self._tell(gang)

    def wait(self, record: PodRecord) -> None:
        """A member that we have assumed somewhere waits there for the rest of its gang."""
        gang = self._gangs[record.gang]
        gang.waiting.add(record.uid)
        self._holders.add(gang.id)

    def all_waiting(self) -> Iterator[PodRecord]:
        """Everybody who waits at Permit."""
        for gang_id in list(self._holders):
            gang = self._gangs.get(gang_id)
            if gang is None or not gang.waiting:
                self._holders.discard(gang_id)
            else:
                yield from (gang.assumed[uid] for uid in gang.waiting)

    def bind_failed(self, record: PodRecord) -> None:
        """A member was not bound, after its gang had been complete: the others, which may be, count until it is."""
        gang = self._gangs.get(record.gang)
        if gang is not None:
            gang.recovering = True

    def moved(self, record: PodRecord) -> None:
        """We have assumed a member somewhere, or taken that back."""
        gang = self._gangs.get(record.gang)
        was = gang.standing_of(record.uid) if gang is not None else None
        if gang is not None and was is not None:
            gang.leave(record, was)
            gang.enter(record, self._standing(gang, record))

    def abandon(self, record: PodRecord) -> None:
        """Its gang timed out. We say so at once; the API server is about to say it too, and then its word counts."""
        self._abandoned.add(record.uid)
        record.timed_out = True
        self.moved(record)
        gang = self._gangs.get(record.gang)
        if gang is not None:
            self._tell(gang)

    def is_abandoned(self, uid: str) -> bool:
        """It timed out, and the API server has not said so yet."""
        return uid in self._abandoned

    def take_back_abandonments(self) -> None:
        """What the API server was not told by now it will not be told: nobody could ever lift what nobody sees."""
        for gang in self._gangs.values():
            for record in [each for each in gang.absent.values() if each.uid in self._abandoned]:
                record.timed_out = False
                self.moved(record)
                self._tell(gang)
        self._abandoned.clear()

    # --- who starts with whom ---

    def group_of(self, gang_id: str) -> GangGroup:
        """The gang, those that it lists, those that they list, and so on.

        Lists may be one-sided: if only b lists a, then b waits for a, and a for nobody. A listed gang need not exist.
        """
        if gang_id not in self._lists:
            return (gang_id,)
        known = self._groups.get(gang_id)
        if known is None:
            known = self._groups[gang_id] = tuple(sorted(_reachable(gang_id, self._lists)))
        return known

    def groups_with(self, gang_id: str) -> set[GangGroup]:
        """Every group that a change of this gang is news for."""
        if gang_id not in self._listed_by:
            return {self.group_of(gang_id)}
        return {self.group_of(each) for each in _reachable(gang_id, self._listed_by)}

    def own(self, group: GangGroup) -> list[Gang]:
        """Of a group's gangs, those that are here and start with exactly this group."""
        return [gang for each in group if (gang := self._gangs.get(each)) is not None and self.group_of(each) == group]

    def has_started(self, group: GangGroup) -> bool:
        """A member of the group has been bound: it was complete once."""
        return any(gang.started for gang in self.own(group))

    def is_free(self, record: PodRecord) -> bool:
        """An ordinary pod: it belongs to no gang, or to one that needs it no more."""
        gang = self._gangs.get(record.gang) if record.gang else None
        if gang is None:
            return True
        return gang.spec.match_policy == "once-satisfied" and self.has_started(self.group_of(gang.id))

    def is_waiting(self, record: PodRecord) -> bool:
        """Reserved, and at Permit."""
        gang = self._gangs.get(record.gang) if record.gang else None
        return gang is not None and record.uid in gang.waiting

    # --- bookkeeping ---

    def _open(self, gang_id: str) -> Gang:
        gang = self._gangs.get(gang_id)
        if gang is None:
            gang = self._gangs[gang_id] = Gang(gang_id)
            self._resolve(gang)
        return gang

    def _standing(self, gang: Gang, record: PodRecord) -> dict[str, PodRecord]:
        if record.scheduler not in self.schedulers or record.terminating:
            return gang.absent
        if record.bound:
            return gang.bound
        if record.node:
            return gang.assumed
        return gang.pending if record.schedulable else gang.absent

    def _tell(self, gang: Gang) -> None:
        self.news |= self.groups_with(gang.id)

    def _resolve(self, gang: Gang) -> None:
        gang.resolve(self.defaults)
        others = tuple(each for each in gang.spec.group if each != gang.id)
        before = self._lists.get(gang.id, ())
        if others == before:
            return
        self._tell(gang)
        for each in before:
            self._listed_by[each].discard(gang.id)
            if not self._listed_by[each]:
                del self._listed_by[each]
        for each in others:
            self._listed_by[each].add(gang.id)
        self._lists[gang.id] = others
        if not others:
            del self._lists[gang.id]
        self._groups.clear()
        self._tell(gang)

    def _drop_if_gone(self, gang: Gang) -> None:
        if gang.is_gone:
            gang.spec = GangSpec()
            self._resolve(gang)
            del self._gangs[gang.id]


def _says_the_same(one: PodGroup, other: PodGroup) -> bool:
    if one.metadata.uid != other.metadata.uid or one.spec != other.spec:
        return False
    return wishes_of(one.metadata) == wishes_of(other.metadata)


def _reachable(start: str, edges: dict[str, GangGroup] | defaultdict[str, set[str]]) -> set[str]:
    seen, ahead = {start}, [start]
    while ahead:
        for each in edges.get(ahead.pop(), ()):
            if each not in seen:
                seen.add(each)
                ahead.append(each)
    return seen
