"""The index of gangs: members and PodGroups by gang, kept up to date by the watches.

A PodGroup belongs to the gang of its front-end, namespace and name. Gangs without a PodGroup are kept too, as theirs
may be created later. Pods of other schedulers are no members, but the index remembers them: a gang that has only such
pods belongs to another scheduler, unless that scheduler's name looks like a slip.

The index never writes to the API server. It adds the key of a PodGroup to the work queue when its status may have to
change, and only then: most of the events of fifty thousand pods change no status.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from koordpy.api.pod import Pod
from koordpy.api.podgroup.claims import claims_of
from koordpy.api.podgroup.frontends import front_end_of, name_of
from koordpy.api.podgroup.gangobject import GangObject
from koordpy.api.spelling import likely
from koordpy.controllers.podgroup.kinds import KINDS, PodGroupKind
from koordpy.controllers.podgroup.members import Member, member_of
from koordpy.controllers.runtime.versions import is_newer


class PodGroupKey(NamedTuple):
    """Names one PodGroup in the work queue."""

    api_version: str
    gang: str  # its id

    def __str__(self) -> str:
        return name_of(self.gang)


@dataclass(slots=True)
class Gang:
    """One gang; `key` is its id."""

    key: str
    members: dict[str, Member] = field(default_factory=dict)  # by UID
    foreign_schedulers: dict[str, str] = field(default_factory=dict)  # by UID of the pod that asks for them
    slips: dict[str, str] = field(default_factory=dict)  # by UID: what is nearly our name, of pods without a node
    pod_groups: dict[str, Any] = field(default_factory=dict)  # by API version

    @property
    def object(self) -> GangObject | None:
        """The PodGroup that configures the gang: Koordinator's, if both coscheduling groups have one of this name."""
        versions = front_end_of(self.key).api_versions
        return next((KINDS[v].gang_object(self.pod_groups[v]) for v in versions if v in self.pod_groups), None)

    @property
    def is_foreign(self) -> bool:
        """Whether all pods ask for another scheduler, whose controller may write the status."""
        return bool(self.foreign_schedulers) and not self.members

    @property
    def is_empty(self) -> bool:
        return not (self.members or self.foreign_schedulers or self.slips or self.pod_groups)


class GangIndex:
    """Every gang by key. It is the sink of the watch of pods; each `PodGroupApi` passes on its PodGroups."""

    def __init__(
        self, schedulers: Collection[str], on_change: Callable[[PodGroupKey], None], clock: Callable[[], float]
    ) -> None:
        self._schedulers, self._on_change, self._clock = frozenset(schedulers), on_change, clock
        self._gangs: dict[str, Gang] = {}
        self._gang_of: dict[str, Gang] = {}  # by UID of the pod

    def __len__(self) -> int:
        return len(self._gangs)

    def get(self, key: str) -> Gang | None:
        return self._gangs.get(key)

    def keys(self) -> list[PodGroupKey]:
        """One for each PodGroup."""
        return [PodGroupKey(version, gang.key) for gang in self._gangs.values() for version in gang.pod_groups]

    # --- pods ---

    def upsert(self, obj: Pod) -> None:
        """A pod was added or updated."""
        uid, named = obj.metadata.uid, claims_of(obj).named
        membership = named[0] if named else None
        before = self._gang_of.get(uid)
        if before is not None and (membership is None or membership.gang != before.key):
            self.remove(obj.metadata.key, uid)
        if membership is None:
            return
        gang = self._gang_of[uid] = self._get_or_create(membership.gang)
        if obj.spec.scheduler_name in self._schedulers:
            self._upsert_member(gang, obj)
        else:
            self._upsert_foreign(gang, obj)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both; the index knows pods by UID
        """A pod was deleted."""
        gang = self._gang_of.pop(uid, None)
        if gang is not None:
            gang.members.pop(uid, None)
            gang.foreign_schedulers.pop(uid, None)
            gang.slips.pop(uid, None)
            self._changed(gang)

    def _upsert_member(self, gang: Gang, pod: Pod) -> None:
        uid = pod.metadata.uid
        before = gang.members.get(uid)
        known_since = before.bound_at if before is not None else None
        member = member_of(pod, known_since if known_since is not None else self._clock())
        if member != before:
            gang.members[uid] = member
            self._changed(gang)

    def _upsert_foreign(self, gang: Gang, pod: Pod) -> None:
        """A name that is nearly ours is a slip until the pod gets a node: then there is a scheduler of that name."""
        uid, name = pod.metadata.uid, pod.spec.scheduler_name
        is_slip = not pod.spec.node_name and bool(likely(name, self._schedulers))
        known, other = (gang.slips, gang.foreign_schedulers)[:: 1 if is_slip else -1]
        if uid not in known:
            other.pop(uid, None)
            known[uid] = name
            self._changed(gang)

    # --- PodGroups ---

    def upsert_pod_group(self, kind: PodGroupKind, pod_group: Any) -> None:
        """The watch shows a PodGroup that was added or updated."""
        gang = self._get_or_create(kind.gang_of(pod_group.metadata.key))
        known = gang.pod_groups.get(kind.api_version)
        if is_newer(pod_group.metadata, known.metadata if known is not None else None):
            gang.pod_groups[kind.api_version] = pod_group
            self._changed(gang)

    def record_write(self, kind: PodGroupKind, pod_group: Any) -> None:
        """Our own write returned this version: it needs no reconcile, nor does the watch event that follows it."""
        gang = self._gangs.get(kind.gang_of(pod_group.metadata.key))
        known = gang.pod_groups.get(kind.api_version) if gang is not None else None
        if gang is None or known is None or known.metadata.uid != pod_group.metadata.uid:
            return
        if is_newer(pod_group.metadata, known.metadata):
            gang.pod_groups[kind.api_version] = pod_group

    def remove_pod_group(self, kind: PodGroupKind, key: str) -> None:
        """A PodGroup was deleted. One of the same name may be left in another API group, and is reconciled."""
        gang = self._gangs.get(kind.gang_of(key))
        if gang is not None:
            gang.pod_groups.pop(kind.api_version, None)
            self._changed(gang)

    # --- both ---

    def _get_or_create(self, key: str) -> Gang:
        gang = self._gangs.get(key)
        if gang is None:
            gang = self._gangs[key] = Gang(key)
        return gang

    def _changed(self, gang: Gang) -> None:
        if gang.is_empty:
            self._gangs.pop(gang.key, None)
        for api_version in gang.pod_groups:
            self._on_change(PodGroupKey(api_version, gang.key))
