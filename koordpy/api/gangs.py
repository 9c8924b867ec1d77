"""What pods and PodGroups say about gangs: membership, and the configuration in their labels and annotations.

Each object's word is read on its own; whose word counts is decided where gangs are kept. A value that cannot be used
is never an error here: it counts as not said, and is remembered as a complaint for whoever wrote it.
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
    """The gang that a pod belongs to."""

    gang: str  # namespace/name
    by_pod_group: bool  # named by a label that stands for a PodGroup, which must then exist


class Complaint(NamedTuple):
    """A value that cannot be used."""

    key: str
    value: str
    problem: str


class GangDeclaration(NamedTuple):
    """What one object says; None where it says nothing that can be used."""

    minimum: int | None = None
    total: int | None = None
    mode: Mode | None = None
    group: tuple[str, ...] | None = None  # of gangs, namespace/name; () for none but the gang itself
    wait_s: float | None = None
    match_policy: MatchPolicy | None = None
    topology: str | None = None  # the JSON as it stands there, if it can be read
    disruption: DisruptionMode | None = None
    complaints: tuple[Complaint, ...] = ()


DECLARES_NOTHING = GangDeclaration()

# The keys of each field, the one that wins first.
_KEYS: tuple[tuple[str, ...], ...] = (
    (keys.MIN_AVAILABLE, keys.SIGS_MIN_AVAILABLE),
    (keys.TOTAL_NUMBER,),
    (keys.MODE,),
    (keys.GROUPS, keys.GANG_GROUPS),
    (keys.WAITING_TIME,),
    (keys.MATCH_POLICY, keys.SIGS_MATCH_POLICY),
    (keys.NETWORK_TOPOLOGY_SPEC,),
    (keys.DISRUPTION_MODE,),
)
_SAID = tuple(key for field_keys in _KEYS for key in field_keys)
_ALSO_LABELS = (keys.SIGS_MIN_AVAILABLE,)


def membership_of(meta: ObjectMeta) -> Membership | None:
    """The gang of a pod, always in the pod's own namespace; the first key that says something wins."""
    labels, annotations = meta.labels, meta.annotations
    name = labels.get(keys.POD_GROUP) or labels.get(keys.X_POD_GROUP)
    if name:
        return Membership(f"{meta.namespace}/{name}", by_pod_group=True)
    name = (
        labels.get(keys.POD_GROUP_NAME)
        or annotations.get(keys.POD_GROUP_NAME)
        or annotations.get(keys.POD_GROUP)
        or annotations.get(keys.GANG_NAME)
    )
    return Membership(f"{meta.namespace}/{name}", by_pod_group=False) if name else None


def declaration_of(meta: ObjectMeta) -> GangDeclaration:
    """What a pod or a PodGroup says about its gang."""
    labels, annotations = meta.labels, meta.annotations
    said = tuple([(key, annotations[key]) for key in _SAID if key in annotations])
    labelled = tuple([(key, labels[key]) for key in _ALSO_LABELS if key in labels])
    return _read(labelled, said) if said or labelled else DECLARES_NOTHING


@lru_cache(maxsize=4096)  # the members of a gang all say the same, in words that are thus read once
def _read(labelled: tuple[tuple[str, str], ...], said: tuple[tuple[str, str], ...]) -> GangDeclaration:
    complaints: list[Complaint] = []
    minimum, total, mode, group, wait, policy, topology, disruption = (
        tuple(_values(field_keys, dict(labelled), dict(said))) for field_keys in _KEYS
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
        complaints=tuple(complaints),
    )


def _values(
    field_keys: tuple[str, ...], labels: Mapping[str, str], said: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Every value that stands there for a field, with its key, in the order in which they are asked."""
    for key in field_keys:
        if key in labels:
            yield key, labels[key]
        if key in said:
            yield key, said[key]


def _first(values: tuple[tuple[str, str], ...], read: Callable[[str], T], complaints: list[Complaint]) -> T | None:
    """The first value that can be used."""
    for key, text in values:
        try:
            return read(text)
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


def _gang_ids(text: str) -> tuple[str, ...]:
    """An empty value is legal, and means the gang alone."""
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
    """The text itself, if it can be read."""
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
