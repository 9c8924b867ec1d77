"""The roster: members and PodGroups of every gang, as the watches tell them. It notes, and says what has changed.

A PodGroup belongs to the gang of its namespace and name, whichever API group it is of; gangs without one are kept too,
as theirs may come later. Pods of other schedulers are no members, but it matters whether a gang has only such.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from koordpy.api.gangs import membership_of
from koordpy.api.podgroup import GROUPS, PodGroup
from koordpy.controllers.podgroup.members import GangPod, Member, member_of
from koordpy.controllers.runtime.statuswriter import is_news


@dataclass(slots=True)
class Gang:
    """One gang; `key` is the `namespace/name` of its PodGroups."""

    key: str
    members: dict[str, Member] = field(default_factory=dict)  # by UID
    foreign: dict[str, str] = field(default_factory=dict)  # other schedulers by UID of a pod that asks for them
    pod_groups: dict[str, PodGroup] = field(default_factory=dict)  # by API group

    @property
    def pod_group(self) -> PodGroup | None:
        """The one that the scheduler listens to: Koordinator's, should both API groups have one of the name."""
        return next((self.pod_groups[group] for group in GROUPS if group in self.pod_groups), None)

    @property
    def is_foreign(self) -> bool:
        """Somebody else schedules it and, with luck, writes its status."""
        return bool(self.foreign) and not self.members


class Roster:
    """Every gang by key. `on_change` is called with the key of each gang that has a PodGroup and news."""

    def __init__(
        self, schedulers: Collection[str], on_change: Callable[[str], None], clock: Callable[[], float]
    ) -> None:
        self._schedulers, self._on_change, self._clock = frozenset(schedulers), on_change, clock
        self._gangs: dict[str, Gang] = {}
        self._gang_of: dict[str, Gang] = {}  # by UID of the pod

    def __iter__(self) -> Iterator[Gang]:
        return iter(self._gangs.values())

    def get(self, key: str) -> Gang | None:
        return self._gangs.get(key)

    # --- a sink of pods ---

    def upsert(self, obj: GangPod) -> None:
        """A pod appeared or changed."""
        uid, membership = obj.metadata.uid, membership_of(obj.metadata)
        before = self._gang_of.get(uid)
        if before is not None and (membership is None or membership.gang != before.key):
            self.remove(obj.metadata.key, uid)
        if membership is None:
            return
        gang = self._gang_of[uid] = self._open(membership.gang)
        if obj.spec.scheduler_name in self._schedulers:
            self._enter(gang, obj)
        elif uid not in gang.foreign:
            gang.foreign[uid] = obj.spec.scheduler_name
            self._tell(gang)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink is told both; a pod is known by its UID
        """A pod is gone."""
        gang = self._gang_of.pop(uid, None)
        if gang is not None:
            gang.members.pop(uid, None)
            gang.foreign.pop(uid, None)
            self._tell(gang)

    def _enter(self, gang: Gang, pod: GangPod) -> None:
        uid = pod.metadata.uid
        before = gang.members.get(uid)
        known_since = before.bound_at if before is not None else None
        member = member_of(pod, known_since if known_since is not None else self._clock())
        if member != before:
            gang.members[uid] = member
            self._tell(gang)

    # --- PodGroups ---

    def put(self, api_group: str, pod_group: PodGroup) -> None:
        """A PodGroup appeared or changed."""
        gang = self._open(pod_group.metadata.key)
        if is_news(pod_group, gang.pod_groups.get(api_group)):
            gang.pod_groups[api_group] = pod_group
            self._tell(gang)

    def answered(self, api_group: str, pod_group: PodGroup) -> None:
        """Our own write has made it so: no news to us, also when the watch says it afterwards."""
        gang = self._gangs.get(pod_group.metadata.key)
        known = gang.pod_groups.get(api_group) if gang is not None else None
        if gang is None or known is None or known.metadata.uid != pod_group.metadata.uid:
            return
        if is_news(pod_group, known):
            gang.pod_groups[api_group] = pod_group

    def drop(self, api_group: str, key: str) -> None:
        """A PodGroup is gone."""
        gang = self._gangs.get(key)
        if gang is not None:
            gang.pod_groups.pop(api_group, None)
            self._tell(gang)  # one of the same name may be left in the other API group

    # --- bookkeeping ---

    def _open(self, key: str) -> Gang:
        gang = self._gangs.get(key)
        if gang is None:
            gang = self._gangs[key] = Gang(key)
        return gang

    def _tell(self, gang: Gang) -> None:
        if not (gang.members or gang.foreign or gang.pod_groups):
            self._gangs.pop(gang.key, None)
        if gang.pod_groups:
            self._on_change(gang.key)
