"""PodGroups of `scheduling.run.ai/v2alpha2`: the ones there are, and what the one of a gang has to be like.

Several versions of this definition are in use. KAI's of 2025 knows no `minSubGroup` and refuses a minimum of 0; a
`Dialect` says which of both the installed one takes, and is learned from its answers. This module writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from koordpy.api.decode import Decoder
from koordpy.api.grouping import ANYWHERE, Gang, Owner, SubGroup, Topology
from koordpy.api.keys import GROUPED_QUEUE, MANAGED_BY, PODGROUPER
from koordpy.api.meta import ObjectMeta, Struct
from koordpy.controllers.grouping import inherit
from koordpy.controllers.runtime.versions import is_newer
from koordpy.kube.watch.reflector import Resource

GROUP, VERSION = "scheduling.run.ai", "v2alpha2"
OTHERS = "others"  # the subgroup of pods that no rule knows, such as the submitter of a RayJob; it needs nobody
_LONGEST_NAME = 253

Json = dict[str, Any]


class RunAiPodGroup(Struct, frozen=True):
    metadata: ObjectMeta
    spec: Json = {}


POD_GROUPS = Resource(
    f"/apis/{GROUP}/{VERSION}/podgroups", Decoder("PodGroup of scheduling.run.ai", RunAiPodGroup), optional=True
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the installed definition takes."""

    nested: bool = True  # `minSubGroup`
    zeros: bool = True  # a minimum of 0, which is left out otherwise


@dataclass(frozen=True, slots=True)
class Wanted:
    """A PodGroup as it should be; empty fields are left to others."""

    namespace: str
    name: str
    owner: Owner
    gang: Gang
    queue: str = ""
    priority_class: str = ""
    preemptibility: str = ""
    topology: Topology = ANYWHERE
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class PodGroupIndex:
    """The sink of the watch of PodGroups, and of the answers to our own writes. `changed` is told the key."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._changed = changed
        self._known: dict[str, RunAiPodGroup] = {}

    def get(self, key: str) -> RunAiPodGroup | None:
        return self._known.get(key)

    def upsert(self, obj: RunAiPodGroup) -> None:
        known = self._known.get(obj.metadata.key)
        if self.record(obj) and (known is None or _telling(known) != _telling(obj)):
            self._changed(obj.metadata.key)

    def remove(self, key: str, uid: str) -> None:
        known = self._known.get(key)
        if known is not None and known.metadata.uid == uid:
            del self._known[key]
            self._changed(key)

    def record(self, obj: RunAiPodGroup) -> bool:
        """Keep this version; returns whether it was news."""
        known = self._known.get(obj.metadata.key)
        if not is_newer(obj.metadata, known.metadata if known is not None else None):
            return False
        self._known[obj.metadata.key] = obj
        return True


def _telling(obj: RunAiPodGroup) -> tuple[object, ...]:
    """What the grouper looks at: not the status, which changes often."""
    return obj.metadata.uid, obj.spec, obj.metadata.annotations, obj.metadata.owner_references


def name_of(owner: Owner, suffix: str = "") -> str:
    """`pg-<owner>-<UID>`; the name of the owner is cut where the whole would be too long."""
    rest = f"-{owner.uid}{suffix}"
    return f"pg-{owner.metadata.name[: _LONGEST_NAME - 3 - len(rest)]}{rest}"


def with_others(gang: Gang) -> Gang:
    """The gang with each of its pods in a subgroup, if it has subgroups: a pod without one would wait for ever."""
    if not gang.subgroups:
        return gang
    parents = {subgroup.parent for subgroup in gang.subgroups}
    leaves = {subgroup.name for subgroup in gang.subgroups} - parents
    placed = {pod.uid: gang.subgroup_of.get(pod.uid, "") for pod in gang.pods}
    if all(name in leaves for name in placed.values()):
        return gang
    placed = {uid: name if name in leaves else OTHERS for uid, name in placed.items()}
    return replace(gang, subgroups=(*gang.subgroups, SubGroup(OTHERS, 0)), subgroup_of=placed)


def wanted_of(gang: Gang, owner: Owner, chain: Sequence[Owner], classes: Collection[str]) -> Wanted | None:
    """The PodGroup of a gang; None if it needs none. The chain is that of its pods, nearest first."""
    gang = with_others(gang)
    at = next((number for number, each in enumerate(chain) if each.uid == owner.uid), -1)
    first = [*chain[at:], *reversed(chain[:at])] if at >= 0 else list(chain)
    queue = inherit.queue_of(first, gang.pods)
    if gang.on_demand and not queue:
        return None
    holder = Owner("v1", "Pod", gang.pods[0].meta) if gang.alone else owner
    return Wanted(
        namespace=gang.pods[0].meta.namespace,
        name=gang.name or name_of(holder, gang.suffix),
        owner=holder,
        gang=gang,
        queue=queue,
        priority_class=inherit.priority_class_of(gang, chain, classes),
        preemptibility=inherit.preemptibility_of(chain, gang.pods[:1]),
        topology=inherit.topology_of(first),
        annotations=inherit.declarations_of(owner),
    )


def body_of(wanted: Wanted, dialect: Dialect) -> Json:
    """The object to create."""
    owner = wanted.owner
    reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.metadata.name, "uid": owner.uid}
    spec = own_fields(wanted, dialect)
    annotations = dict(wanted.annotations)
    if wanted.queue:
        spec["queue"] = annotations[GROUPED_QUEUE] = wanted.queue
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "PodGroup",
        "metadata": {
            "name": wanted.name,
            "namespace": wanted.namespace,
            "labels": {MANAGED_BY: PODGROUPER},
            "annotations": annotations,
            "ownerReferences": [reference],
        },
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def patch_of(wanted: Wanted, found: RunAiPodGroup, dialect: Dialect) -> Json:
    """The merge patch that makes the PodGroup true; empty if it is. It names no field that it does not change."""
    spec = {key: value for key, value in own_fields(wanted, dialect).items() if found.spec.get(key) != value}
    annotations = {
        key: value for key, value in wanted.annotations.items() if found.metadata.annotations.get(key) != value
    }
    given = found.metadata.annotations.get(GROUPED_QUEUE, "")
    if wanted.queue and wanted.queue != given and found.spec.get("queue", "") == given:  # nobody else has set it
        spec["queue"] = annotations[GROUPED_QUEUE] = wanted.queue
    patch: Json = {}
    if annotations:
        patch["metadata"] = {"annotations": annotations}
    if spec:
        patch["spec"] = spec
    return patch


def own_fields(wanted: Wanted, dialect: Dialect) -> Json:
    """The fields of `spec` that are the grouper's; None: the field must not be there."""
    gang = wanted.gang
    nested = gang.min_subgroup is not None or any(each.parent for each in gang.subgroups)
    if nested and not dialect.nested:
        gang = flattened(gang)
    fields: Json = {
        "minMember": _minimum(gang.minimum, dialect),
        "minSubGroup": gang.min_subgroup,
        "subGroups": [_subgroup(each, dialect) for each in gang.subgroups] or None,
    }
    if wanted.priority_class:
        fields["priorityClassName"] = wanted.priority_class
    if wanted.preemptibility:
        fields["preemptibility"] = wanted.preemptibility
    if any(wanted.topology):
        fields["topologyConstraint"] = _topology(wanted.topology)
    return fields


def flattened(gang: Gang) -> Gang:
    """The same gang without parents. Of subgroups of which only some are needed, those are that have pods."""
    parents = {each.parent for each in gang.subgroups}
    top = [each for each in gang.subgroups if not each.parent and each.name != OTHERS]
    leaves = [each._replace(parent="") for each in gang.subgroups if each.name not in parents]
    if gang.min_subgroup is not None and gang.min_subgroup < len(top):
        populated = set(gang.subgroup_of.values())
        leaves = [each for each in leaves if each.name in populated]
    minimum = gang.minimum
    if minimum is None:
        minimum = sum(each.minimum or 0 for each in leaves)
    return replace(gang, minimum=minimum, min_subgroup=None, subgroups=tuple(leaves))


def _subgroup(subgroup: SubGroup, dialect: Dialect) -> Json:
    fields = {
        "name": subgroup.name,
        "minMember": _minimum(subgroup.minimum, dialect),
        "minSubGroup": subgroup.min_subgroup,
        "parent": subgroup.parent or None,
        "topologyConstraint": _topology(subgroup.topology) or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _minimum(minimum: int | None, dialect: Dialect) -> int | None:
    return None if minimum == 0 and not dialect.zeros else minimum


def _topology(topology: Topology) -> Json:
    fields = {
        "topology": topology.topology,
        "requiredTopologyLevel": topology.required,
        "preferredTopologyLevel": topology.preferred,
    }
    return {key: value for key, value in fields.items() if value}
