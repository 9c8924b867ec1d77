"""Membership and declarations: the labels and annotations of pods and PodGroups that name and configure gangs.

Each declaration is parsed by itself; `state/gangs/spec.py` decides which one counts. A value that cannot be used is no
error: the declaration is as without it, and keeps a complaint for the owner of the object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple, TypeVar

from koordpy.api import keys
from koordpy.api.errors import MalformedValue
from koordpy.api.meta import ObjectMeta
from koordpy.api.times import seconds_of_duration
from koordpy.api.topology import gather_rules

Mode = Literal["Strict", "NonStrict"]
MatchPolicy = Literal["only-waiting", "waiting-and-running", "once-satisfied"]
DisruptionMode = Literal["Single", "Minimum", "All"]
MODES: tuple[Mode, ...] = ("Strict", "NonStrict")
DISRUPTION_MODES: tuple[DisruptionMode, ...] = ("Single", "Minimum", "All")
MATCH_POLICIES: tuple[MatchPolicy, ...] = ("only-waiting", "waiting-and-running", "once-satisfied")

T = TypeVar("T")

_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
_MOST = 2**31 - 1


class Membership(NamedTuple):
    """A gang that a pod belongs to."""

    gang: str  # its id, which is `namespace/name` but for the mark of some front-ends
    needs_object: bool  # named by something that stands for an object, such as a label for PodGroups: it must exist


class Complaint(NamedTuple):
    """A value that cannot be used, and why."""

    key: str
    value: str
    problem: str


class GangDeclaration(NamedTuple):
    """The declaration of one object; None for fields without a usable value."""

    minimum: int | None = None
    total: int | None = None
    mode: Mode | None = None
    group: tuple[str, ...] | None = None  # of gangs, namespace/name; () for none but the gang itself
    wait_s: float | None = None
    match_policy: MatchPolicy | None = None
    topology: str | None = None  # the JSON as written, if it can be parsed
    disruption: DisruptionMode | None = None
    staleness_s: float | None = None  # 0: for ever
    run_time_s: float | None = None
    queue: str | None = None  # of the label, which counts on pods and on objects
    complaints: tuple[Complaint, ...] = ()


DECLARES_NOTHING = GangDeclaration()

# The keys of each field, by precedence.
_KEYS: tuple[tuple[str, ...], ...] = (
    (keys.MIN_AVAILABLE, keys.SIGS_MIN_AVAILABLE),
    (keys.TOTAL_NUMBER,),
    (keys.MODE,),
    (keys.GROUPS, keys.GANG_GROUPS),
    (keys.WAITING_TIME,),
    (keys.MATCH_POLICY, keys.SIGS_MATCH_POLICY),
    (keys.NETWORK_TOPOLOGY_SPEC,),
    (keys.DISRUPTION_MODE,),
    (keys.STALENESS_GRACE_PERIOD,),
    (keys.RUN_TIME,),
    (keys.QUEUE,),
)
_ANNOTATION_KEYS = tuple(key for field_keys in _KEYS for key in field_keys if key != keys.QUEUE)
_LABEL_KEYS = (keys.SIGS_MIN_AVAILABLE, keys.QUEUE)


def membership_of(meta: ObjectMeta) -> Membership | None:
    """The gang of a pod, always in the pod's own namespace; the first key with a value counts."""
    labels, annotations = meta.labels, meta.annotations
    name = labels.get(keys.POD_GROUP) or labels.get(keys.X_POD_GROUP)
    if name:
        return Membership(f"{meta.namespace}/{name}", needs_object=True)
    name = (
        labels.get(keys.POD_GROUP_NAME)
        or annotations.get(keys.POD_GROUP_NAME)
        or annotations.get(keys.POD_GROUP)
        or annotations.get(keys.GANG_NAME)
    )
    return Membership(f"{meta.namespace}/{name}", needs_object=False) if name else None


def declaration_of(meta: ObjectMeta) -> GangDeclaration:
    """The declaration of a pod or a PodGroup about its gang."""
    labels, annotations = meta.labels, meta.annotations
    annotated = tuple([(key, annotations[key]) for key in _ANNOTATION_KEYS if key in annotations])
    labelled = tuple([(key, labels[key]) for key in _LABEL_KEYS if key in labels])
    return _parse(labelled, annotated) if annotated or labelled else DECLARES_NOTHING


@lru_cache(maxsize=4096)  # the members of a gang have equal declarations, which are thus parsed once
def _parse(labelled: tuple[tuple[str, str], ...], annotated: tuple[tuple[str, str], ...]) -> GangDeclaration:
    complaints: list[Complaint] = []
    minimum, total, mode, group, wait, policy, topology, disruption, staleness, run_time, queue = (
        tuple(_values(field_keys, dict(labelled), dict(annotated))) for field_keys in _KEYS
    )
    return GangDeclaration(
        minimum=_first(minimum, _count, complaints),
        total=_first(total, _count, complaints),
        mode=_first(mode, lambda text: _one_of(text, MODES), complaints),
        group=_first(group, _gang_ids, complaints),
        wait_s=_first(wait, _wait_s, complaints),
        match_policy=_first(policy, lambda text: _one_of(text, MATCH_POLICIES), complaints),
        topology=_first(topology, _topology, complaints),
        disruption=_first(disruption, lambda text: _one_of(text, DISRUPTION_MODES), complaints),
        staleness_s=_first(staleness, _grace_s, complaints),
        run_time_s=_first(run_time, _wait_s, complaints),
        queue=_first(queue, str, complaints) or None,
        complaints=tuple(complaints),
    )


def _values(
    field_keys: tuple[str, ...], labels: Mapping[str, str], annotated: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """All values of a field with their keys, by precedence."""
    for key in field_keys:
        if key in labels:
            yield key, labels[key]
        if key in annotated:
            yield key, annotated[key]


def _first(values: tuple[tuple[str, str], ...], parse: Callable[[str], T], complaints: list[Complaint]) -> T | None:
    """The first value that can be used."""
    for key, text in values:
        try:
            return parse(text)
        except ValueError as error:
            complaints.append(Complaint(key, text, str(error)))
    return None


def _count(text: str) -> int:
    if not _INTEGER.fullmatch(text) or not 0 <= int(text) <= _MOST:
        raise ValueError("is not a whole number of at least 0")
    return int(text)


def _one_of(text: str, choices: tuple[T, ...]) -> T:
    for choice in choices:
        if choice == text:
            return choice
    raise ValueError(f"is not {' or '.join(map(str, choices))}")


def _wait_s(text: str) -> float:
    try:
        seconds = seconds_of_duration(text)
    except MalformedValue as error:
        raise ValueError(error.problem) from None
    if seconds <= 0:
        raise ValueError("is not positive")
    return seconds


def _grace_s(text: str) -> float:
    try:
        seconds = seconds_of_duration(text)
    except MalformedValue as error:
        raise ValueError(error.problem) from None
    if seconds < 0:
        raise ValueError("is negative")
    return seconds


def _gang_ids(text: str) -> tuple[str, ...]:
    """The ids of a group; an empty value is legal, and means the gang alone."""
    if not text.strip():
        return ()
    try:
        ids = json.loads(text)
    except (ValueError, RecursionError):
        ids = None
    if not isinstance(ids, list) or not all(isinstance(each, str) and _names_a_gang(each) for each in ids):
        raise ValueError('is not a JSON array of "namespace/name"')
    return tuple(sorted(set(ids)))


def _topology(text: str) -> str:
    """The text itself, if it can be parsed."""
    if not text.strip():
        return ""
    try:
        gather_rules(text)
    except MalformedValue as error:
        raise ValueError(error.problem) from None
    return text


def _names_a_gang(text: str) -> bool:
    namespace, slash, name = text.partition("/")
    return bool(namespace and slash and name) and "/" not in name


def describe(complaint: Complaint, used: Mapping[str, object]) -> str:
    """`gang.scheduling.koordinator.sh/mode: "Lax" is not Strict or NonStrict; "Strict" is used instead`."""
    shown = complaint.value if len(complaint.value) <= 80 else complaint.value[:77] + "..."
    instead = used.get(complaint.key)
    ending = f"{instead} is used instead" if instead is not None else "it is ignored"
    return f'{complaint.key}: "{shown}" {complaint.problem}; {ending}'
