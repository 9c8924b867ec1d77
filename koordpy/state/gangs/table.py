"""Every gang, from what the API server says and what the scheduler does.

A gang is here as long as somebody speaks of it: a pod that belongs to it, its object, or a finished pod that counts. It
may be here before its object, collecting pods, and after its last pod. Nothing is decided here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from koordpy.api.keys import SUBGROUP_NAME
from koordpy.api.pod import Pod
from koordpy.api.podgroup import frontends
from koordpy.api.podgroup.frontends import FrontEnd
from koordpy.api.podgroup.gangobject import GangObject
from koordpy.api.times import seconds_of_instant
from koordpy.state.changes import ChangeLog
from koordpy.state.events import ClusterEvent, EventKind
from koordpy.state.gangs.gang import Finished, Gang
from koordpy.state.gangs.groups import GangGroup, GangGroups
from koordpy.state.gangs.spec import NO_SPEC, GangDefaults, GangSpec
from koordpy.state.pods import PodRecord


class GangTable:
    """Every gang by id, and who waits for whom."""

    def __init__(self, schedulers: Collection[str], defaults: GangDefaults, changes: ChangeLog) -> None:
        self._schedulers = schedulers  # ours: pods of others are never members that count
        self._defaults, self._changes = defaults, changes
        self._gangs: dict[str, Gang] = {}
        self._finished: dict[str, str] = {}  # UID of a finished member -> its gang
        self._abandoned: set[str] = set()  # UIDs of members that timed out, until the API server says so
        self._evicting: Counter[str] = Counter()  # UIDs of members that we are about to delete, and for how many jobs
        self._holders: set[str] = set()  # gangs of which somebody waits at Permit, and some that did
        self._groups = GangGroups()
        self._not_served: set[str] = set()  # API versions whose definitions are not installed
        self._priority_classes: dict[str, int] = {}

    def is_served(self, front_end: FrontEnd) -> bool:
        """There can be objects of it: their definition is installed, in one of its API versions at least."""
        return not self._not_served.issuperset(front_end.api_versions)

    def get(self, gang_id: str) -> Gang | None:
        return self._gangs.get(gang_id)

    def spec_of(self, gang_id: str) -> GangSpec:
        """What a gang asks for; of one that there is not, nothing. Another object as soon as it may be another one."""
        gang = self._gangs.get(gang_id)
        return gang.spec if gang is not None else NO_SPEC

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
        evictable = gang.evictability if gang.bound or record.bound else None
        was, now = self._stand(gang, record)
        self._tell_victims(gang, evictable)
        if gang.declare(before, record):
            self._resolve(gang)
        if now is gang.bound:
            gang.recovering &= not gang.is_bound
        if (
            before is None or was is not now or before.shape is not record.shape
            or before.priority != record.priority or before.declaration != record.declaration
            or before.nominated_node != record.nominated_node or before.subgroup != record.subgroup
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
        self._evicting.pop(record.uid, None)
        evictable = gang.evictability if gang.bound else None
        gang.leave(record, standing)
        self._tell_victims(gang, evictable)
        gang.settle()
        if record.uid in gang.succeeded:  # counted once from here on: `member_finished` could not say
            gang.recovering &= not gang.is_bound
        if gang.declare(record, None):
            self._resolve(gang)
        self._drop_if_gone(gang)

    def member_finished(self, uid: str, gang_id: str, now: Finished) -> None:
        """A member has run to its end. One that succeeded is counted until its pod is terminating or gone."""
        if self._finished.get(uid) != gang_id:
            self.finished_gone(uid)  # from the gang that it was in before, should its owner have moved it
        self._finished[uid] = gang_id
        gang = self._open(gang_id)
        if gang.finished.get(uid) == now:
            return
        gang.finish(uid, now)
        if uid not in gang.bound:  # it was terminating, and has succeeded all the same; else it must not count twice
            gang.recovering &= not gang.is_bound
        self._tell(gang)

    def finished_gone(self, uid: str) -> None:
        """A pod was deleted that may have been counted as finished."""
        gang = self._gangs.get(self._finished.pop(uid, ""))
        if gang is not None:
            gang.finished.pop(uid, None)
            gang.succeeded.discard(uid)
            gang.settle()
            self._tell(gang)
            self._drop_if_gone(gang)

    def set_object(self, api_version: str, gang_id: str, obj: GangObject | None) -> None:
        """A gang's object appeared, changed or left (None)."""
        if obj is None and gang_id not in self._gangs:
            return
        gang = self._open(gang_id)
        before = gang.objects.get(api_version)
        if obj is None:
            gang.objects.pop(api_version, None)
        else:
            gang.objects[api_version] = obj
            if before is not None and before.says_the_same(obj):
                return  # its status, most likely: that we keep ourselves, and it is no news
        if obj is None or before is None or before.uid != obj.uid:
            gang.begin_anew()
        self._resolve(gang)
        self._tell(gang)
        self._drop_if_gone(gang)

    def set_served(self, front_end: FrontEnd, api_version: str, *, served: bool) -> None:
        """Objects of an API version are installed, or are not: those that wait for one are told so."""
        before = self.is_served(front_end)
        self._not_served.discard(api_version) if served else self._not_served.add(api_version)
        if before != self.is_served(front_end):
            for gang in self._gangs.values():
                if gang.front_end is front_end and gang.needs_object and not gang.objects:
                    self._tell(gang)

    def set_priority_class(self, name: str, value: int | None) -> list[Gang]:
        """A PriorityClass appeared, changed or left (None): the gangs whose objects name it."""
        if self._priority_classes.get(name) == value:
            return []
        if value is None:
            del self._priority_classes[name]
        else:
            self._priority_classes[name] = value
        found = [g for g in self._gangs.values() if any(obj.priority_class == name for obj in g.objects.values())]
        for gang in found:
            self._resolve(gang)
            self._tell(gang)
        return found

    @property
    def priority_classes(self) -> Mapping[str, int]:
        """The value of each PriorityClass."""
        return self._priority_classes

    # --- what the scheduler does ---

    def bind_accepted(self, record: PodRecord) -> None:
        """The API server has taken a bind: from here on the gang has started, though the watch may not show it yet."""
        gang = self._gangs.get(record.gang)
        if gang is None or record.uid not in gang.assumed:
            return
        was_started = gang.started
        gang.accepted.add(record.uid)
        if not was_started:
            self._tell(gang)

    def begin_evictions(self, records: Iterable[PodRecord]) -> None:
        """These are about to be deleted. They count for nothing from here on, as if they were terminating already.

        Else what their owner makes again for the first of them would start alone, beside the last that is still there.
        """
        for record in records:
            if record.gang:
                self._evicting[record.uid] += 1
                self._restand(record)

    def end_evictions(self, records: Iterable[PodRecord]) -> None:
        """These are not deleted after all, unless they are terminating by now."""
        for record in records:
            if self._evicting[record.uid] > 1:
                self._evicting[record.uid] -= 1
                continue
            self._evicting.pop(record.uid, None)
            self._restand(record)

    def end_all_evictions(self, pods: Mapping[str, PodRecord]) -> None:
        """Another term of leadership: what is terminating will be seen, and nothing else is about to be deleted."""
        evicting, self._evicting = self._evicting, Counter()
        for uid in evicting:
            if uid in pods:
                self._restand(pods[uid])

    def is_evicting(self, uid: str) -> bool:
        """Whether it is about to be deleted by us."""
        return uid in self._evicting

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
            gang.recovering = gang.started or gang.in_flight > (record.uid in gang.assumed)

    def moved(self, record: PodRecord) -> None:
        """We have assumed a member somewhere, or taken that back."""
        gang = self._gangs.get(record.gang)
        was = gang.standing_of(record.uid) if gang is not None else None
        if gang is not None and was is not None:
            evictable = gang.evictability if gang.bound else None
            gang.leave(record, was)
            gang.enter(record, self._standing(gang, record))
            self._tell_victims(gang, evictable)
            gang.settle()
            if gang.spec.staleness_s and gang.lacks_members:  # a bind has failed, and the watch has no news of that
                self._tell(gang)

    def _tell_victims(self, gang: Gang, before: tuple[bool, bool] | None) -> None:
        """Members changed their standing: if the gang may be evicted now and could not be before, jobs are woken.

        Only the first member that it can spare counts, not each further one: a gang that grows by thousands would say
        so of all its nodes each time. `before` is None if no member is bound: of such a gang nobody can be evicted.
        """
        if before is None or not gang.bound:
            return
        whole, some = gang.evictability
        if (whole and not before[0]) or (some and not before[1] and not whole):
            for node in {member.node for member in gang.bound.values()}:
                self._changes.add_event(ClusterEvent(EventKind.VICTIMS, node))

    def _restand(self, record: PodRecord) -> None:
        gang = self._gangs.get(record.gang) if record.gang else None
        was = gang.standing_of(record.uid) if gang is not None else None
        if gang is None or was is None or was is self._standing(gang, was[record.uid]):
            return
        self.moved(was[record.uid])
        self._tell(gang)

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

    def _stand(self, gang: Gang, record: PodRecord) -> tuple[dict[str, PodRecord] | None, dict[str, PodRecord]]:
        """A member is shown anew: where it stood before, and where it stands now. What it waited for stays so."""
        uid, was = record.uid, gang.standing_of(record.uid)
        waits, accepted = uid in gang.waiting, uid in gang.accepted
        if was is not None:
            gang.leave(was[uid], was)
        now = self._standing(gang, record)
        gang.enter(record, now)
        if now is gang.assumed:
            gang.waiting |= {uid} if waits else set()
            gang.accepted |= {uid} if accepted else set()
        elif was is not None:
            gang.settle()
        return was, now

    def _standing(self, gang: Gang, record: PodRecord) -> dict[str, PodRecord]:
        if record.scheduler not in self._schedulers or record.terminating or record.uid in self._evicting:
            return gang.absent
        if record.bound:
            return gang.bound
        if record.node:
            return gang.assumed
        return gang.pending if record.schedulable and gang.knows_subgroup(record.subgroup) else gang.absent

    def is_stray(self, record: PodRecord) -> bool:
        """It could be placed, but for the subgroup that it says, or does not say: no other member waits for it."""
        gang = self._gangs.get(record.gang) if record.gang else None
        return gang is not None and record.schedulable and not gang.knows_subgroup(record.subgroup)

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
        before, expendable = gang.minima, gang.expendable
        leaves = gang.leaf_names
        gang.resolve(self._defaults, self._priority_classes)
        if gang.leaf_names != leaves:
            self._sort_strays(gang)
        if gang.minima != before:
            gang.recovering &= not gang.is_bound  # by the minima that it has now
        if gang.expendable > expendable:  # jobs may have been refused because it could lose nobody
            for node in {member.node for member in gang.bound.values()}:
                self._changes.add_event(ClusterEvent(EventKind.VICTIMS, node))
        listed = (frontends.gang_id(gang.front_end, each) for each in gang.spec.group)  # of its own front-end
        others = tuple(each for each in listed if each != gang.id)
        if others != self._groups.lists(gang.id):
            self._tell(gang)  # those whom it leaves
            self._groups.relist(gang.id, others)
            self._tell(gang)  # and those whom it joins

    def _sort_strays(self, gang: Gang) -> None:
        """Its object has other subgroups than before: members may have a place now, or none any more."""
        for record in [*gang.pending.values(), *gang.absent.values()]:
            if (record.uid in gang.pending) != (self._standing(gang, record) is gang.pending):
                self.moved(record)

    def _drop_if_gone(self, gang: Gang) -> None:
        if gang.is_gone:
            gang.spec = GangSpec()
            self._resolve(gang)
            del self._gangs[gang.id]


def finished_member(pod: Pod, *, needs_object: bool) -> Finished:
    """How and when a pod ended, as gangs remember it."""
    meta = pod.metadata
    succeeded = pod.status.phase == "Succeeded" and meta.deletion_timestamp is None
    created = seconds_of_instant(meta.creation_timestamp) if meta.creation_timestamp else 0.0
    return Finished(succeeded, needs_object, created, pod.finished_at or created, meta.labels.get(SUBGROUP_NAME, ""))
