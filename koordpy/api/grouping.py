"""What a grouper gets and gives: a workload with its pods in, gangs out.

A grouper is a pure function of these values. It reads no clock and no API server, so that the same workload always gets
the same gangs, after a restart and in any order of events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from koordpy.api.meta import ObjectMeta

TRAIN, BUILD, INFERENCE = "train", "build", "inference"  # KAI's priority classes, by what a workload is for


@dataclass(frozen=True, slots=True)
class Owner:
    """An object that owns pods, directly or through others."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    body: Mapping[str, Any] = field(default_factory=dict)  # `spec` and `status`; empty where only metadata was read

    @property
    def group(self) -> str:
        return group_of(self.api_version)

    @property
    def uid(self) -> str:
        return self.metadata.uid

    def __str__(self) -> str:
        return f"{self.kind} {self.metadata.key}"


class WorkloadPod(NamedTuple):
    """A pod, as far as groupers read it."""

    meta: ObjectMeta
    bound: bool = False
    finished: bool = False
    priority_class: str = ""

    @property
    def uid(self) -> str:
        return self.meta.uid

    @property
    def labels(self) -> dict[str, str]:
        return self.meta.labels

    @property
    def annotations(self) -> dict[str, str]:
        return self.meta.annotations

    @property
    def terminating(self) -> bool:
        return self.meta.deletion_timestamp is not None

    @property
    def age(self) -> tuple[str, str]:
        """Sorts the oldest first."""
        return self.meta.creation_timestamp or "", self.meta.name


@dataclass(frozen=True, slots=True)
class Workload:
    """The owner by which pods are grouped, and all of its pods, the oldest first.

    `below` are the owners between it and its pods: of a RayJob its RayCluster, of a JobSet its Jobs.
    """

    owner: Owner
    pods: tuple[WorkloadPod, ...]
    below: tuple[Owner, ...] = ()


class Topology(NamedTuple):
    """`topologyConstraint`: node label keys; all of the members, or as many as can be, within one value of them."""

    topology: str = ""
    required: str = ""
    preferred: str = ""


ANYWHERE = Topology()


class SubGroup(NamedTuple):
    """A part of a gang. A parent has `min_subgroup`, a leaf has `minimum`; pods are in leaves."""

    name: str
    minimum: int | None = None
    min_subgroup: int | None = None
    parent: str = ""
    topology: Topology = ANYWHERE


@dataclass(frozen=True, slots=True)
class Gang:
    """What one gang of a workload needs.

    `minimum` pods start together or none does; with `min_subgroup` so many of the topmost subgroups do instead.
    """

    pods: tuple[WorkloadPod, ...]
    minimum: int | None = 1
    min_subgroup: int | None = None
    subgroups: tuple[SubGroup, ...] = ()
    subgroup_of: Mapping[str, str] = field(default_factory=dict)  # the leaf of a pod, by its UID
    suffix: str = ""  # of the PodGroup's name, where a workload has several
    name: str = ""  # replaces `pg-<owner>-<UID>`
    alone: bool = False  # one pod, which owns its PodGroup itself
    on_demand: bool = False  # not worth a PodGroup unless a queue is named
    priority: str = TRAIN  # the class, if nobody names one
    priority_label: str = ""  # one more label of the owner that may name the class


def group_of(api_version: str) -> str:
    """The API group: empty for `v1`."""
    group, slash, _ = api_version.rpartition("/")
    return group if slash else ""
