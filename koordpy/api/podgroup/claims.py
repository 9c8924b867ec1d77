"""Claims: every gang that a pod says it belongs to, by whichever front-end.

Which of them has the pod is decided by `state/gangs/claims.py`: it depends on the objects that exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from koordpy.api.gangs import Membership, membership_of
from koordpy.api.keys import RUNAI_POD_GROUP_NAME
from koordpy.api.meta import OwnerReference
from koordpy.api.pod import Pod
from koordpy.api.podgroup.frontends import ARBITRATOR, KAI, NATIVE, gang_id
from koordpy.api.podgroup.schedulingspec import GROUP, QUEUE_JOB, controller_of


class Claims(NamedTuple):
    """What one pod says."""

    named: tuple[Membership, ...] = ()  # gangs that it names, the front-end that has it first
    of_owner: str = ""  # the gang that the pods of its controller would be, were there a SchedulingSpec
    owner_needs_spec: bool = False  # its controller is a QueueJob: there will be one


NO_CLAIMS = Claims()


def claims_of(pod: Pod) -> Claims:
    """The claims of a pod."""
    named = tuple(_named(pod))
    owner = controller_of(pod.metadata) if pod.metadata.owner_references else None
    if owner is None:
        return Claims(named) if named else NO_CLAIMS
    return Claims(named, owner_gang(pod.metadata.namespace, owner), _is_queue_job(owner))


def owner_gang(namespace: str, owner: OwnerReference) -> str:
    """The id of the gang that the pods of an owner are, if it has a SchedulingSpec."""
    return gang_id(ARBITRATOR, f"{namespace}/{owner.name}", owner.uid)


def _named(pod: Pod) -> Iterator[Membership]:
    meta = pod.metadata
    by_label = membership_of(meta)
    if by_label is not None:
        yield by_label
    group = pod.spec.scheduling_group
    if group is not None and group.pod_group_name:
        yield Membership(gang_id(NATIVE, f"{meta.namespace}/{group.pod_group_name}"), needs_object=True)
    name = meta.annotations.get(RUNAI_POD_GROUP_NAME)
    if name:
        yield Membership(gang_id(KAI, f"{meta.namespace}/{name}"), needs_object=True)


def _is_queue_job(owner: OwnerReference) -> bool:
    return owner.kind == QUEUE_JOB and owner.api_version.partition("/")[0] == GROUP
