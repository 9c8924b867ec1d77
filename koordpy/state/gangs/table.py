"""Every gang, from what the API server says and what the scheduler does.

A gang is here as long as somebody speaks of it: a pod that belongs to it, a PodGroup, or a finished pod that counts. It
may be here before its PodGroup, collecting pods, and after its last pod. Nothing is decided here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from koordpy.api.gangs import declaration_of
from koordpy.api.pod import Pod
from koordpy.api.podgroup import PodGroup
from koordpy.api.times import seconds_of_instant
from koordpy.state.changes import ChangeLog
from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.groups import GangGroup, GangGroups
from koordpy.state.gangs.spec import GangDefaults, GangSpec
from koordpy.state.pods import PodRecord


class GangTable:
    """Every gang by id, and who waits for whom."""

    def __init__(self, schedulers: Collection[str], defaults: GangDefaults, changes: ChangeLog) -> None:
        self._schedulers = schedulers  # ours: pods of others are never members that count
        self._defaults, self._changes = defaults, changes
        self._gangs: dict[str, Gang] = {}
        self._finished: dict[str, str] = {}  # UID of a finished member -> its gang
        self._abandoned: set[str] = set()  # UIDs of members that timed out, until the API server says so
        self._holders: set[str] = set()  # gangs of which somebody waits at Permit, and some that did
        self._groups = GangGroups()

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
        if gang.declare(before, record):
            self._resolve(gang)
        if record.bound and now is not gang.absent:
            self.mark_started(gang)
        if (
            before is None or was is not now or before.shape is not record.shape
            or before.priority != record.priority or before.declaration != record.declaration
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
        if gang.declare(record, None):
            self._resolve(gang)
        self._drop_if_gone(gang)

    def member_finished(self, pod: Pod, gang_id: str) -> None:
        """A member has run to its end. One that succeeded is counted for as long as its pod is there."""
        uid = pod.metadata.uid
        if self._finished.get(uid) == gang_id:
            return
        self.finished_gone(uid)  # from the gang that it was in before, should its owner have moved it
        self._finished[uid] = gang_id
        gang = self._open(gang_id)
        if pod.spec.node_name:
            self.mark_started(gang)  # first: it may still be among the bound ones, and must not count twice
        gang.finished.add(uid)
        if pod.status.phase == "Succeeded":
            gang.succeeded.add(uid)
            if uid not in gang.bound:  # it was terminating, and has succeeded all the same
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

    def mark_started(self, gang: Gang) -> None:
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

    def wait_no_more(self, record: PodRecord) -> None:
        """A member waits no more: it is about to be bound, or unreserved."""
        gang = self._gangs.get(record.gang)
        if gang is not None:
            gang.waiting.discard(record.uid)

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
        """Those that the gang starts with, itself among them."""
        return self._groups.of(gang_id)

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
        if record.scheduler not in self._schedulers or record.terminating:
            return gang.absent
        if record.bound:
            return gang.bound
        if record.node:
            return gang.assumed
        return gang.pending if record.schedulable else gang.absent

    def recount(self, records: Iterable[PodRecord]) -> None:
        """Sort every member anew, from the pod records alone."""
        members: defaultdict[str, list[PodRecord]] = defaultdict(list)
        for record in records:
            if record.gang:
                self._open(record.gang)
                members[record.gang].append(record)
        for gang in list(self._gangs.values()):
            gang.recount((record, self._standing(gang, record)) for record in members[gang.id])
            self._resolve(gang)
            self._tell(gang)
            self._drop_if_gone(gang)

    def _tell(self, gang: Gang) -> None:
        self._changes.add_groups(self._groups.reached_by(gang.id))

    def _resolve(self, gang: Gang) -> None:
        before = gang.minimum
        gang.resolve(self._defaults)
        if gang.minimum != before:
            gang.recovering &= not gang.is_bound  # by the minimum that it has now
        others = tuple(each for each in gang.spec.group if each != gang.id)
        if others != self._groups.lists(gang.id):
            self._tell(gang)  # those whom it leaves
            self._groups.relist(gang.id, others)
            self._tell(gang)  # and those whom it joins

    def _drop_if_gone(self, gang: Gang) -> None:
        if gang.is_gone:
            gang.spec = GangSpec()
            self._resolve(gang)
            del self._gangs[gang.id]


def _says_the_same(one: PodGroup, other: PodGroup) -> bool:
    if one.metadata.uid != other.metadata.uid or one.spec != other.spec:
        return False
    return declaration_of(one.metadata) == declaration_of(other.metadata)
