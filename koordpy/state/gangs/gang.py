"""One gang: its members by standing, what they declare, and what follows from that.

Members are known by UID: a pod made again under the same name is a new member. Nothing is decided here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from koordpy.api.gangs import DECLARES_NOTHING, GangDeclaration
from koordpy.api.podgroup.frontends import FrontEnd, front_end_of, name_of
from koordpy.api.podgroup.gangobject import GangObject, SubGroup
from koordpy.api.times import seconds_of_instant
from koordpy.state.gangs.declarers import Declarers, by_age
from koordpy.state.gangs.spec import GangDefaults, GangSpec, resolve
from koordpy.state.pods import PodRecord

_NOBODY = -(2**31)  # the lowest priority
_RUNNING = ("assumed", "bound")
_LONG_AGO = float("-inf")  # an object that does not say when it was made


class Finished(NamedTuple):
    """How and when a member ended whose pod is still there."""

    succeeded: bool  # and is not terminating: a terminating pod counts for nothing
    needs_object: bool  # belongs to it by something that stands for an object
    created: float  # in seconds since the epoch, as is `at`
    at: float
    subgroup: str = ""


class Part(NamedTuple):
    """What has to come together for a gang to start: all of it, or one of its subgroups."""

    subgroup: str  # "" for the gang itself
    minimum: int
    counted: int  # members that count as there
    pending: int
    optional: bool = False  # the gang starts without it; it starts whole or not at all


class Gang:
    """One gang. Its members stand in exactly one of `pending`, `assumed`, `bound` and `absent`, each by UID."""

    __slots__ = (
        "_by_subgroup", "_declared", "_labelled", "_priorities", "_protected", "absent", "accepted", "assumed", "bound",
        "created", "eviction_classes", "finished", "finishing", "front_end", "id", "objects", "pending", "recovering",
        "spec", "succeeded", "told", "waiting",
    )  # fmt: skip

    def __init__(self, gang_id: str) -> None:
        self.id = gang_id
        self.front_end: FrontEnd = front_end_of(gang_id)
        self.created = float("inf")  # of its object or its oldest member, in seconds since the epoch
        self.objects: dict[str, GangObject] = {}  # by API version
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
        self._declared: dict[GangDeclaration, Declarers] = {}
        self._labelled = 0  # members by something that stands for an object
        self._by_subgroup: Counter[tuple[str, str]] = Counter()  # members by standing and subgroup
        self._priorities: Counter[int] = Counter()  # of pending and assumed members
        self.eviction_classes: Counter[int] = Counter()  # of bound members
        self._protected = 0  # bound members whose labels protect them

    @property
    def name(self) -> str:
        """`namespace/name`, as messages show it."""
        return name_of(self.id)

    @property
    def object(self) -> GangObject | None:
        """Its object; Koordinator's PodGroup, should both API groups of the coscheduling kind have one of the name."""
        return next((self.objects[each] for each in self.front_end.api_versions if each in self.objects), None)

    @property
    def expendable(self) -> int:
        """Bound members that may be evicted one by one; with one more, all of them go."""
        match self.spec.disruption:
            case "Single":
                return len(self.bound)
            case "All":
                return 0
            case _ if self.spec.subgroups is not None:
                return self._expendable_of_all_parts
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
    def needs_object(self) -> bool:
        """Some member says that there is an object: then there must be one."""
        return self._labelled > 0

    @property
    def initialised(self) -> bool:
        """There is a minimum, and the object that a label names."""
        return self.spec.minimum is not None and (bool(self.objects) or not self.needs_object)

    @property
    def minimum(self) -> int:
        return self.spec.minimum or 0

    @property
    def minima(self) -> tuple[int, ...]:
        """Its own, and those of its subgroups."""
        leaves = self.spec.subgroups.leaves.values() if self.spec.subgroups is not None else ()
        return (self.minimum, *(leaf.minimum for leaf in leaves))

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
    def has_enough(self) -> bool:
        """With those that are pending it could start, as far as members go."""
        if self.collected < self.minimum:
            return False
        return self.spec.subgroups is None or all(
            part.counted + part.pending >= part.minimum for part in self.parts() if not part.optional
        )

    @property
    def collected(self) -> int:
        """Members that count as there, or could."""
        return self.counted + len(self.pending)

    @property
    def priority(self) -> int:
        """The highest of its members' that are not bound yet; nobody's is below that of none."""
        return max(self._priorities, default=_NOBODY)

    @property
    def order_priority(self) -> int:
        """What orders it in the queue: the priority that its object says, else that of its members."""
        return self.spec.priority if self.spec.priority is not None else self.priority

    def found(self, *, started: bool) -> None:
        """We begin, and find it so: whoever led before may have died while it was being bound."""
        self.recovering = started and not self.is_bound

    @property
    def is_bound(self) -> bool:
        """As many as it needs are running, or have finished well."""
        if len(self.bound) + len(self.succeeded) < self.minimum:
            return False
        return self.spec.subgroups is None or not self._lacks_in(("bound",))

    @property
    def lacks_members(self) -> bool:
        """It was started, and fewer are there than it needs. One of which members succeed is merely finishing."""
        there = len(self.bound) + len(self.assumed) + len(self.succeeded)
        suffices = there >= self.minimum and (self.spec.subgroups is None or not self._lacks_in(("bound", "assumed")))
        if not self.bound or suffices or self.finishing:
            return False
        return self.object is None or not self.object.has_succeeded  # before we began, and its pod is gone

    # --- its parts ---

    def parts(self) -> tuple[Part, ...]:
        """What has to come together: all of it, or each of the subgroups that it starts with; then the others."""
        subgroups = self.spec.subgroups
        if subgroups is None:
            return (Part("", self.minimum, self.counted, len(self.pending)),)
        running = ("assumed",) if self.spec.match_policy == "only-waiting" and not self.recovering else _RUNNING
        succeeded = self._succeeded_in() if "bound" in running else Counter()
        found = {
            leaf.name: Part(
                leaf.name,
                leaf.minimum,
                sum(self._by_subgroup[each, leaf.name] for each in running) + succeeded[leaf.name],
                self._by_subgroup["pending", leaf.name],
            )
            for leaf in subgroups.leaves.values()
        }
        chosen = subgroups.chosen(
            lambda leaf: found[leaf.name].counted >= leaf.minimum,
            lambda leaf: found[leaf.name].counted + found[leaf.name].pending >= leaf.minimum,
        )
        names = {leaf.name for leaf in chosen}
        others = (part._replace(optional=True) for part in found.values() if part.subgroup not in names)
        return (*(found[leaf.name] for leaf in chosen), *others)

    @property
    def leaf_names(self) -> tuple[str, ...]:
        """The subgroups that members can say; none: it has no parts."""
        return self.spec.leaf_names

    def knows_subgroup(self, name: str) -> bool:
        """Whether a member that says this subgroup, or none (""), has a place in it."""
        return self.spec.subgroups is None or name in self.spec.subgroups.leaves

    def _succeeded_in(self) -> Counter[str]:
        return Counter(self.finished[uid].subgroup for uid in self.succeeded)

    def _lacks_in(self, standings: tuple[str, ...]) -> bool:
        """Whether a subgroup that it needs has fewer members in these standings, or succeeded, than it needs."""
        assert self.spec.subgroups is not None
        succeeded = self._succeeded_in()

        def is_there(leaf: SubGroup) -> bool:
            return sum(self._by_subgroup[each, leaf.name] for each in standings) + succeeded[leaf.name] >= leaf.minimum

        return not all(map(is_there, self.spec.subgroups.chosen(is_there, is_there)))

    @property
    def _expendable_of_all_parts(self) -> int:
        """So many that no subgroup falls below its minimum, whichever members go."""
        assert self.spec.subgroups is not None
        succeeded, spare = self._succeeded_in(), len(self.bound) + len(self.succeeded) - self.minimum
        for leaf in self.spec.subgroups.leaves.values():
            if running := self._by_subgroup["bound", leaf.name]:
                spare = min(spare, running + succeeded[leaf.name] - leaf.minimum)
        return max(0, spare)

    def all_live(self) -> Iterator[PodRecord]:
        """Every member that is not finished."""
        for standing in (self.pending, self.assumed, self.bound, self.absent):
            yield from standing.values()

    @property
    def is_gone(self) -> bool:
        """Nobody speaks of it any more."""
        lists = (self.pending, self.assumed, self.bound, self.absent, self.finished, self.objects)
        return not any(lists)

    def enter(self, record: PodRecord, standing: dict[str, PodRecord]) -> None:
        standing[record.uid] = record
        self.created = min(self.created, record.created)
        self._labelled += record.needs_object
        if record.subgroup:
            self._by_subgroup[self._name_of(standing), record.subgroup] += 1
        if standing is self.bound:
            self._protected += not record.evictable
            self.eviction_classes[record.eviction_class] += 1
        elif standing is not self.absent:
            self._priorities[record.priority] += 1

    def leave(self, record: PodRecord, standing: dict[str, PodRecord]) -> None:
        del standing[record.uid]
        self.waiting.discard(record.uid)
        self.accepted.discard(record.uid)
        self._labelled -= record.needs_object
        if record.subgroup:
            self._by_subgroup[self._name_of(standing), record.subgroup] -= 1
        if standing is self.bound:
            self._protected -= not record.evictable
            _count_down(self.eviction_classes, record.eviction_class)
        elif standing is not self.absent:
            _count_down(self._priorities, record.priority)

    def _name_of(self, standing: dict[str, PodRecord]) -> str:
        if standing is self.pending:
            return "pending"
        if standing is self.assumed:
            return "assumed"
        return "bound" if standing is self.bound else "absent"

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
            self._by_subgroup,
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
        self.count_succeeded()

    # --- another start ---

    def begin_anew(self) -> None:
        """Its object is another one than before: what was said and how old it was belong to the predecessor."""
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
        """Of the finished members, those that succeeded after its object was made; before it, for another one."""
        made = self._made
        self.succeeded = {uid for uid, each in self.finished.items() if each.succeeded and self._is_own(each, made)}
        self.finishing = bool(self.succeeded) or (self.finishing and self.started)

    def _is_own(self, member: Finished, made: float) -> bool:
        """Times have whole seconds: who was created and succeeded in the second of the object belongs to it."""
        if not self.objects:
            return not member.needs_object  # its object is gone, and the next one begins anew
        return member.at > made or member.created >= made

    @property
    def _made(self) -> float:
        """When its object was made, in seconds since the epoch."""
        stamp = self.object.created if self.object is not None else None
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
            changed |= self._declared.setdefault(now.declaration, Declarers()).add(now)
        if before is None or before.declaration == DECLARES_NOTHING:
            return changed
        if now is not None and now.declaration == before.declaration:
            return changed
        declarers = self._declared[before.declaration]
        changed |= declarers.remove(before)
        if not declarers:
            del self._declared[before.declaration]
        return changed

    def resolve(self, defaults: GangDefaults, priority_classes: Mapping[str, int]) -> None:
        oldest_first = sorted(self._declared.items(), key=lambda item: by_age(item[1].oldest))
        declared = (declaration for declaration, _ in oldest_first)
        self.spec = resolve(declared, self.object, defaults, self.front_end, priority_classes)


def _count_down(counts: Counter[int], key: int) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
