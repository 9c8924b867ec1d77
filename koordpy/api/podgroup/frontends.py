"""Front-ends: the ways of saying that pods are a gang, and how a gang is known among them all.

A gang is known by front-end, namespace and name, so PodGroups of one name in the API groups of two front-ends are two
gangs. Its id is one string: `namespace/name`, behind it the mark of its front-end, if that is not Koordinator's. No
Kubernetes name has an `@` in it. Messages show the id without the mark.
"""

from __future__ import annotations

from typing import NamedTuple


class FrontEnd(NamedTuple):
    """One way of saying that pods are a gang."""

    mark: str  # ends the ids of its gangs
    kind: str  # of the gang's object
    api_versions: tuple[str, ...]  # of such objects; the first that has one of a name counts
    named_by: str  # where pods name it, as messages say it
    refills: bool  # members that are missing after the start come together or not at all


COSCHEDULING = FrontEnd(
    "",
    "PodGroup",
    ("scheduling.sigs.k8s.io/v1alpha1", "scheduling.x-k8s.io/v1alpha1"),
    "the label pod-group.scheduling.sigs.k8s.io",
    refills=False,
)
NATIVE = FrontEnd(
    "@native",
    "PodGroup",
    ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha2"),
    "spec.schedulingGroup",
    refills=True,
)
KAI = FrontEnd("@kai", "PodGroup", ("scheduling.run.ai/v2alpha2",), "the annotation pod-group-name", refills=True)
# Its gangs are known by the UID of the owner: `team/train@9f2c...` are the pods of one owner named train.
ARBITRATOR = FrontEnd(
    "@", "SchedulingSpec", ("arbitrator.incubator.k8s.io/v1alpha1",), "their controller", refills=True
)

FRONT_ENDS = (COSCHEDULING, NATIVE, KAI, ARBITRATOR)  # of several that claim a pod, the first one has it
FRONT_END_OF_API = {version: front_end for front_end in FRONT_ENDS for version in front_end.api_versions}
_BY_MARK = {front_end.mark: front_end for front_end in (COSCHEDULING, NATIVE, KAI)}


def gang_id(front_end: FrontEnd, key: str, owner_uid: str = "") -> str:
    """The id of the gang of an object's key, `namespace/name`; of the pods of an owner, its key and its UID."""
    return f"{key}{front_end.mark}{owner_uid}"


def name_of(gang: str) -> str:
    """`namespace/name`, as messages show it."""
    return gang.partition("@")[0]


def names_of(gangs: str) -> str:
    """The same for ids that are joined by commas, as the keys of jobs are."""
    return ",".join(map(name_of, gangs.split(","))) if "@" in gangs else gangs


def front_end_of(gang: str) -> FrontEnd:
    """The front-end that a gang's id says."""
    _, at, mark = gang.partition("@")
    return _BY_MARK.get(at + mark, ARBITRATOR)
