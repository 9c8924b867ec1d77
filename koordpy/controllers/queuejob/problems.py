"""What is wrong with a spec, for API servers that do not evaluate the rules in the definition.

The rules in CEL keep most of it out. The embedded API has no CEL, some rules need more than CEL can say, and a
definition may have been replaced; so the controller looks again, names field and value, and touches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from koordpy.api.errors import MalformedValue
from koordpy.api.meta import LabelSelector
from koordpy.api.queuejob import QueueJob, TaskSpec
from koordpy.controllers.queuejob.names import hostname, slots, task_names
from koordpy.state.selectors import compile_selector

Json = dict[str, Any]

_LONGEST_LABEL = 63


def problems(job: QueueJob) -> list[str]:
    """One sentence each; empty for a spec that can be used."""
    return [
        *_of_the_job(job),
        *(each for position in range(len(job.spec.task_specs)) for each in _of_a_task(job, position)),
    ]


def _of_the_job(job: QueueJob) -> Iterator[str]:
    spec, name = job.spec, job.metadata.name
    if len(name) > _LONGEST_LABEL:  # its pods have it as a label
        yield f"metadata.name has {len(name)} characters, and may have {_LONGEST_LABEL}"
    if not spec.task_specs:
        yield "spec.taskSpecs is empty"
    if spec.sched_spec is not None and spec.scheduling_spec is not None:
        yield "spec.schedulingSpec is the older name of spec.schedSpec: give one of them"
    field = "spec.schedSpec" if spec.scheduling_spec is None else "spec.schedulingSpec"
    if not 0 <= spec.minimum <= spec.replicas:
        yield f"{field}.minAvailable is {spec.minimum}, and all taskSpecs together have {spec.replicas} replicas"
    names = task_names(spec)
    for twice in sorted({each for each in names if names.count(each) > 1}):
        yield f"two of spec.taskSpecs have the name {twice}"
    if spec.network == "Hostnames":
        if "." in name:  # all else that a label may not have, no name of a QueueJob has
            yield f"metadata.name is {name}: with network: Hostnames it is the name of a Service, and may have no dots"
        longest = max((hostname(name, slot) for slot in slots(spec)), key=len, default="")
        if len(longest) > _LONGEST_LABEL:
            yield f"the hostname {longest} has more than {_LONGEST_LABEL} characters: shorten the job's or task's name"


def _of_a_task(job: QueueJob, position: int) -> Iterator[str]:
    task, field = job.spec.task_specs[position], f"spec.taskSpecs[{position}]"
    if task.replicas < 0:
        yield f"{field}.replicas is {task.replicas}"
    for key in ("metadata", "spec"):
        if not isinstance(task.template.get(key) or {}, dict):
            yield f"{field}.template.{key} is no object"
            return
    yield from _of_a_template(task.template, f"{field}.template")
    if task.selector is not None:
        yield from _of_a_selector(task, field)


def _of_a_template(template: Json, field: str) -> Iterator[str]:
    """What we read or add to; the rest is judged by the API server when it gets the pod."""
    labels, spec = (template.get("metadata") or {}).get("labels"), template.get("spec") or {}
    if not isinstance(labels or {}, dict):
        yield f"{field}.metadata.labels is no object"
    if not isinstance(spec.get("priorityClassName") or "", str):
        yield f"{field}.spec.priorityClassName is no text"
    if not _are_objects(spec.get("containers")) or not spec.get("containers"):
        yield f"{field}.spec.containers has no containers"
    if not _are_objects(spec.get("initContainers")):
        yield f"{field}.spec.initContainers has something else than containers"
    for name in ("initContainers", "containers"):
        if _are_objects(spec.get(name)) and not all(_are_objects(each.get("env")) for each in spec.get(name) or ()):
            yield f"{field}.spec.{name} has an env that is no list of variables"


def _are_objects(found: object) -> bool:
    return found is None or (isinstance(found, list) and all(isinstance(each, dict) for each in found))


def _of_a_selector(task: TaskSpec, field: str) -> Iterator[str]:
    labels = (task.template.get("metadata") or {}).get("labels") or {}
    if not isinstance(labels, dict):
        return
    try:
        selects = compile_selector(msgspec.convert(task.selector, LabelSelector))
        if not selects(labels):
            yield f"{field}.selector does not select the labels of its template"
    except (msgspec.ValidationError, MalformedValue) as error:
        yield f"{field}.selector: {error}"
