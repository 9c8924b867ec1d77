"""What was sent with a question: JSON or YAML, one object or many, as typed objects that the state takes.

A workload is expanded into what it would become; how is not known here. Whatever cannot be used is named with its
object, field and value. Very many pods may come of a few bytes, so that they are read a few at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import msgspec
import yaml

from koordpy.api.answers import invalid, unreadable
from koordpy.api.decode import UNREADABLE
from koordpy.api.errors import MalformedValue
from koordpy.api.pod import Pod
from koordpy.api.podgroup import coscheduling, kai, native, schedulingspec
from koordpy.api.podgroup.claims import owner_gang
from koordpy.api.podgroup.frontends import ARBITRATOR, COSCHEDULING, FRONT_END_OF_API, gang_id
from koordpy.api.podgroup.gangobject import GangObject
from koordpy.api.queue import GROUP as QUEUE_GROUP
from koordpy.api.queue import Queue
from koordpy.api.times import instant_of_seconds

Json = dict[str, Any]
# Into objects, with None while it works on; None at once for a kind that it does not know.
Expand = Callable[[Json, Collection[str]], Iterator[Json | None] | None]

_MOST_PODS = 10_000
_MOST_VALUES = 1_000_000


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Times stay text, as they are in JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class SentWorkload(NamedTuple):
    """What pods came of by expansion."""

    kind: str
    namespace: str
    name: str


@dataclass(slots=True)
class Sent:
    """The objects of one question."""

    pods: list[Pod] = field(default_factory=list)
    gangs: list[tuple[str, str, GangObject]] = field(default_factory=list)  # API version, id, object
    queues: list[Queue] = field(default_factory=list)
    workloads: list[SentWorkload] = field(default_factory=list)


def documents(body: bytes) -> list[Json]:
    """The objects as they were written; lists are taken apart."""
    if not body.strip():
        return []
    try:
        found: list[Any] = [msgspec.json.decode(body)]
    except msgspec.DecodeError:
        found = _from_yaml(body)
    return [_plain(each, [_MOST_VALUES]) for each in _flat(found)]


def _plain(value: Any, left: list[int]) -> Any:
    """Numbers with a fraction as text, as quantities are read. References in YAML can make a small body endless."""
    left[0] -= 1
    if left[0] < 0:
        raise unreadable(f"the body has more than {_MOST_VALUES} values")
    if isinstance(value, dict):
        return {str(key): _plain(each, left) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, left) for each in value]
    return f"{value:.9f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def _from_yaml(body: bytes) -> list[Any]:
    try:
        return [each for each in yaml.load_all(body, _Loader) if each is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise unreadable(f"the body is neither JSON nor YAML: {problem}{where}") from None
    except (ValueError, RecursionError) as error:
        raise unreadable(f"the body is neither JSON nor YAML: {error}") from None


def _flat(found: list[Any]) -> Iterator[Json]:
    for each in found:
        if isinstance(each, list):
            yield from _flat(each)
        elif not isinstance(each, dict):
            raise unreadable(f"the body has {type(each).__name__} {str(each)[:40]!r} where an object should be")
        elif isinstance(each.get("items"), list) and str(each.get("kind", "")).endswith("List"):
            yield from _flat(each["items"])
        else:
            yield each


def read(
    found: list[Json], schedulers: Collection[str], classes: Mapping[str, int], expand: Expand, now: float
) -> Iterator[Sent]:
    """Typed objects, as far as they are read; `classes` are PriorityClasses with their values."""
    sent, stamp = Sent(), instant_of_seconds(now)
    yield sent
    for each in found:
        for obj in _become(each, sent, classes, expand):
            if obj is not None:
                _add(obj, sent, schedulers, classes, stamp)
            yield sent
        if len(sent.pods) > _MOST_PODS:
            raise invalid(f"{_called(each)}: with it there are more than {_MOST_PODS} pods, too many to be planned")


def _become(obj: Json, sent: Sent, classes: Collection[str], expand: Expand) -> Iterator[Json | None]:
    name = _called(obj)
    if not isinstance(obj.get("metadata"), dict) or not obj["metadata"].get("name"):
        raise invalid(f"{name}: metadata.name is missing")
    if _reader(obj) is not None or _is(obj, "v1", "Pod") or _is_queue(obj):
        yield obj
        return
    try:
        made = expand(obj, classes)
        if made is None:
            version, kind = obj.get("apiVersion") or "no apiVersion", obj.get("kind") or "no kind"
            raise invalid(f"{name}: koordpy does not know {kind} of {version}")
        sent.workloads.append(_workload(obj))
        yield from made
    except (MalformedValue, *UNREADABLE) as error:
        raise invalid(f"{name}: {error}") from None


def _workload(obj: Json) -> SentWorkload:
    meta = obj["metadata"]
    return SentWorkload(obj["kind"], meta.get("namespace") or "default", meta["name"])


def _add(obj: Json, sent: Sent, schedulers: Collection[str], classes: Mapping[str, int], stamp: str) -> None:
    meta = obj["metadata"]
    given = {"creationTimestamp": stamp, **meta}
    if not _is_queue(obj):
        given |= {"namespace": meta.get("namespace") or "default"}
    given |= {"uid": meta.get("uid") or f"whatif-{given.get('namespace', '')}-{meta['name']}"}
    obj = {**obj, "metadata": given}
    try:
        if _is(obj, "v1", "Pod"):
            sent.pods.append(_pod(obj, schedulers, classes))
        elif _is_queue(obj):
            sent.queues.append(msgspec.convert(obj, Queue, strict=False))
        else:
            sent.gangs.append(_gang(obj))
    except UNREADABLE as error:
        raise invalid(f"{_called(obj)}: {error}") from None


def _pod(obj: Json, schedulers: Collection[str], classes: Mapping[str, int]) -> Pod:
    pod = msgspec.convert(obj, Pod, strict=False)
    if pod.spec.scheduler_name not in schedulers:
        ours = ", ".join(sorted(schedulers))
        name = pod.spec.scheduler_name
        raise invalid(f"{_called(obj)}: spec.schedulerName {name!r} is not koordpy's, which is {ours}")
    named = pod.spec.priority_class_name
    if named and named not in classes and "priority" not in obj.get("spec", {}):
        raise invalid(f"{_called(obj)}: spec.priorityClassName {named!r} is no PriorityClass")
    priority = classes.get(named, pod.spec.priority) if named else pod.spec.priority
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, priority=priority))


def _gang(obj: Json) -> tuple[str, str, GangObject]:
    version, found = obj["apiVersion"], _reader(obj)
    assert found is not None
    struct, read_ = found
    typed = msgspec.convert(obj, struct, strict=False)
    front_end, meta = FRONT_END_OF_API[version], typed.metadata
    if front_end is not ARBITRATOR:
        return version, gang_id(front_end, meta.key), read_(typed)
    owner = schedulingspec.controller_of(meta)
    if owner is None:
        raise invalid(f"{_called(obj)}: metadata.ownerReferences has no controller, whose pods it could be about")
    return version, owner_gang(meta.namespace, owner), read_(typed)


def _reader(obj: Json) -> tuple[Any, Callable[[Any], GangObject]] | None:
    """The struct of a gang's object, and what makes it one."""
    version, kind = str(obj.get("apiVersion", "")), obj.get("kind")
    front_end = FRONT_END_OF_API.get(version)
    if front_end is None or front_end.kind != kind:
        return None
    group, _, number = version.partition("/")
    if front_end is COSCHEDULING:
        return coscheduling.PodGroup, partial(coscheduling.gang_object_of, group)
    if front_end is ARBITRATOR:
        return schedulingspec.SchedulingSpec, schedulingspec.gang_object_of
    if group == native.GROUP:
        return native.NativePodGroup, partial(native.gang_object_of, number)
    return kai.KaiPodGroup, kai.gang_object_of


def _is(obj: Json, version: str, kind: str) -> bool:
    return obj.get("apiVersion") == version and obj.get("kind") == kind


def _is_queue(obj: Json) -> bool:
    return obj.get("kind") == "Queue" and str(obj.get("apiVersion", "")).partition("/")[0] == QUEUE_GROUP


def _called(obj: Json) -> str:
    meta = obj.get("metadata") if isinstance(obj.get("metadata"), dict) else {}
    assert isinstance(meta, dict)
    return f"{obj.get('kind') or 'object'} {meta.get('namespace') or 'default'}/{meta.get('name') or '?'}"
