"""TFJob, XGBoostJob, JAXJob: all replicas of all roles start together, or as many as `minAvailable` says.

What the jobs of the training operator have in common (`pkg/apis/kubeflow.org/v1` there): a map from role to
`replicas`, and `runPolicy.schedulingPolicy.minAvailable`. The operator takes missing replicas for 1 without writing it
down; a job of which nobody said how large it is cannot be understood here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Gang, Owner, Workload
from koordpy.api.paths import count_at, objects_at
from koordpy.controllers.grouping.kinds.minimum import check_minimum

MIN_AVAILABLE = "spec.runPolicy.schedulingPolicy.minAvailable"


def replica_specs(field: str, *mandatory: str) -> Callable[[Workload], Sequence[Gang]]:
    """The rule for jobs with their roles in `spec.<field>`."""

    def gangs(workload: Workload) -> Sequence[Gang]:
        replicas = sum(replicas_of(workload.owner, field, mandatory).values())
        asked = asked_minimum(workload.owner, MIN_AVAILABLE, replicas)
        return [Gang(workload.pods, minimum=replicas if asked is None else asked)]

    return gangs


def replicas_of(owner: Owner, field: str, mandatory: Collection[str] = ()) -> dict[str, int]:
    """The replicas of each role."""
    place = f"spec.{field}"
    roles = objects_at(owner.body, place)
    if not roles:
        raise MalformedValue(place, None, "has no role: how many pods there will be is not known")
    for role in mandatory:
        if role not in roles:
            raise MalformedValue(f"{place}.{role}", None, f"is missing; a {owner.kind} needs it")
    found: dict[str, int] = {}
    for role in roles:
        count = count_at(owner.body, f"{place}.{role}.replicas")
        if not count:
            raise MalformedValue(f"{place}.{role}.replicas", count, "must be at least 1")
        found[role] = count
    return found


def asked_minimum(owner: Owner, place: str, replicas: int) -> int | None:
    """What the user asks for in so many words."""
    asked = count_at(owner.body, place)
    if asked is not None:
        check_minimum(place, asked, replicas)
    return asked
