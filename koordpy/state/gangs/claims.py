"""Which gang has a pod that several front-ends claim, and who has to be asked again when objects come or go.

A pod belongs to the first front-end that it names. Pods of an owner with a SchedulingSpec need not name anything: they
become a gang when the spec comes, and are none again when it goes. A PodGroup that our own grouper made never outranks
a SchedulingSpec. Nothing is decided here that does not follow from the objects that exist.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from koordpy.api.gangs import Membership
from koordpy.api.podgroup.claims import Claims
from koordpy.api.podgroup.frontends import ARBITRATOR, KAI, front_end_of
from koordpy.api.podgroup.gangobject import GangObject
from koordpy.state.gangs.gang import Finished
from koordpy.state.pods import PodRecord


class ClaimTable:
    """The objects that decide between claims, and the pods that they decide about."""

    def __init__(self, needing_spec: Collection[str] = ()) -> None:
        self._needing_spec = needing_spec  # schedulers of which every pod with a controller needs a SchedulingSpec
        self._specs: set[str] = set()  # gangs of owners that have a SchedulingSpec
        self._grouped: set[str] = set()  # gangs whose PodGroup our own grouper made
        self._of_owner: defaultdict[str, set[str]] = defaultdict(set)  # gang of an owner -> UIDs of its pods
        self._finished: defaultdict[str, dict[str, Finished]] = defaultdict(dict)  # the same, of those that finished
        self._owner_of: dict[str, str] = {}  # UID of a finished pod -> gang of its owner

    def choose(self, claims: Claims, scheduler: str) -> Membership | None:
        """The gang that a pod belongs to."""
        named = claims.named[0] if claims.named else None
        if claims.of_owner and (named is None or named.gang in self._grouped):
            needs_spec = claims.owner_needs_spec or scheduler in self._needing_spec
            if needs_spec or claims.of_owner in self._specs:
                return Membership(claims.of_owner, needs_object=True)
        return named

    def rivals(self, record: PodRecord) -> list[str]:
        """All gangs that a user put a pod into, the one that has it first; what our own grouper did is no conflict."""
        named = [each.gang for each in record.claims.named if each.gang not in self._grouped]
        if record.claims.of_owner in self._specs:
            named.append(record.claims.of_owner)
        return named

    def count(self, before: PodRecord | None, now: PodRecord | None) -> None:
        """A pod appeared, changed, or is gone (None)."""
        if before is not None and before.claims.of_owner and (now is None or now.claims != before.claims):
            uids = self._of_owner[before.claims.of_owner]
            uids.discard(before.uid)
            if not uids:
                del self._of_owner[before.claims.of_owner]
        if now is not None and now.claims.of_owner:
            self._of_owner[now.claims.of_owner].add(now.uid)

    def count_finished(self, claims: Claims, uid: str, how: Finished) -> None:
        """A pod has run to its end: a SchedulingSpec that comes later counts it."""
        if claims.of_owner and not claims.named:
            self._finished[claims.of_owner][uid] = how
            self._owner_of[uid] = claims.of_owner

    def finished_gone(self, uid: str) -> None:
        """A pod was deleted that may have finished."""
        owner = self._owner_of.pop(uid, "")
        if owner:
            del self._finished[owner][uid]
            if not self._finished[owner]:
                del self._finished[owner]

    def finished_of(self, gang: str) -> dict[str, Finished]:
        """The pods of an owner that have run to their end, by UID."""
        return self._finished.get(gang, {})

    def set_object(self, gang: str, obj: GangObject | None) -> bool:
        """A gang's object appeared, changed or left (None): whether pods may belong to another gang because of that."""
        match front_end_of(gang):
            case front_end if front_end is ARBITRATOR:
                return _put(self._specs, gang, there=obj is not None)
            case front_end if front_end is KAI:
                return _put(self._grouped, gang, there=obj is not None and obj.grouped)
            case _:
                return False

    def owned(self, gang: str) -> set[str]:
        """UIDs of the pods of an owner."""
        return self._of_owner.get(gang, set())


def _put(into: set[str], gang: str, *, there: bool) -> bool:
    """Whether that changed anything."""
    if (gang in into) == there:
        return False
    into.add(gang) if there else into.discard(gang)
    return True
