"""Changes to the pods of a job: what they tolerate, select and ask for, and how important they are."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from koordpy.api.affinity import NodeAffinity, NodeSelector, NodeSelectorTerm, Toleration
from koordpy.api.answers import AnyChange, PriorityRaised, RequestLowered, SelectorDropped, TolerationAdded
from koordpy.plan.framework.job import Job
from koordpy.scheduler.answers.amounts import exact
from koordpy.scheduler.answers.question import Question, largest, smallest
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Traits

_HARD = ("NoSchedule", "NoExecute")
_HIGHEST = 1_000_000_000  # that users may give a PriorityClass
_MOST_TAINTS = 16


def toleration_added(question: Question) -> Iterator[AnyChange | None]:
    """All members tolerate one more taint."""
    job, nodes = question.job, question.sandbox.cluster.nodes
    if job is None:
        return
    used = {int(code) for code in nodes.taint_code[nodes.live]}
    taints = {(taint.key, taint.effect) for code in used for taint in nodes.taint_sets[code] if taint.effect in _HARD}
    for key, effect in sorted(taints)[:_MOST_TAINTS]:
        more = Toleration(key=key, operator="Exists", effect=effect)
        if question.starts(question.reshaped(job, lambda traits, more=more: _tolerating(traits, more))):  # type: ignore[misc]
            yield TolerationAdded(key=key, effect=effect, message=f"all members tolerate the taint {key}:{effect}")
        yield None


def _tolerating(traits: Traits, more: Toleration) -> Traits:
    return msgspec.structs.replace(traits, tolerations=(*traits.tolerations, more))


def selector_dropped(question: Question) -> Iterator[AnyChange | None]:
    """All members drop a label key from what they ask of nodes."""
    job = question.job
    if job is None:
        return
    keys = {key for member in job.members if member.shape is not None for key in _selected(member.shape.traits)}
    for key in sorted(keys):
        if question.starts(question.reshaped(job, lambda traits, key=key: _without(traits, key))):  # type: ignore[misc]
            yield SelectorDropped(key=key, message=f"no member asks for nodes with a certain {key}")
        yield None


def _selected(traits: Traits) -> Iterator[str]:
    yield from (key for key, _ in traits.node_selector)
    required = traits.node_affinity.required if traits.node_affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        yield from (expression.key for expression in term.match_expressions)


def _without(traits: Traits, key: str) -> Traits:
    selector = tuple(pair for pair in traits.node_selector if pair[0] != key)
    affinity = traits.node_affinity
    if affinity is not None and affinity.required is not None:
        affinity = NodeAffinity(_required_without(affinity.required, key), affinity.preferred)
    return msgspec.structs.replace(traits, node_selector=selector, node_affinity=affinity)


def _required_without(required: NodeSelector, key: str) -> NodeSelector | None:
    """A term that asks for nothing more allows every node, and the others are alternatives to it."""
    terms = []
    for term in required.node_selector_terms:
        kept = tuple(each for each in term.match_expressions if each.key != key)
        if not kept and not term.match_fields:
            return None
        terms.append(NodeSelectorTerm(kept, term.match_fields))
    return NodeSelector(tuple(terms))


def request_lowered(question: Question, resources: list[str]) -> Iterator[AnyChange | None]:
    """The members that ask for most of a resource that is missing ask for less."""
    job = question.job
    for resource in resources if job is not None else ():
        assert job is not None
        asked = {member.uid: _asked(member, resource) for member in job.members}
        most = max(asked.values(), default=0)
        uids = {uid for uid, amount in asked.items() if amount == most}
        if most <= 1:
            continue

        def lowered(to: int, resource: str = resource, uids: set[str] = uids, job: Job = job) -> bool:
            return question.starts(_lowered(question, job, uids, resource, to))

        for found in largest(1, most - 1, lowered):
            if found is None:
                yield None
                continue
            before, to = exact(resource, most), exact(resource, found)
            names = sorted(job.by_uid[uid].key for uid in uids)
            who = names[0] if len(names) == 1 else f"each of {len(names)} members"
            text = f"{who} asks for {to} of {resource} instead of {before}"
            yield RequestLowered(resource=resource, from_=before, to=to, members=names, message=text)


def _asked(member: PodRecord, resource: str) -> int:
    return dict(member.own_shape.traits.needed).get(resource, 0) if member.own_shape is not None else 0


def _lowered(question: Question, job: Job, uids: set[str], resource: str, to: int) -> Job:
    def lower(traits: Traits) -> Traits:
        needed = tuple((name, to if name == resource else amount) for name, amount in traits.needed)
        return msgspec.structs.replace(traits, needed=needed)

    changed = question.reshaped(job, lower)
    return question.with_members(job, lambda member: changed.by_uid[member.uid] if member.uid in uids else member)


def priority_raised(question: Question) -> Iterator[AnyChange | None]:
    """All members are more important than some that run, which then leave."""
    job, sandbox = question.job, question.sandbox
    if job is None or not job.members or not all(member.preempts for member in job.members):
        return
    if not all(sandbox.planning.profiles[member.scheduler].preempts for member in job.members):
        return
    least = min(member.priority for member in job.members)
    running = {pod.priority for pod in sandbox.cluster.pods.values() if sandbox.cluster.evictions.may_be_evicted(pod)}
    levels = sorted(each for each in running if least <= each < _HIGHEST)
    victims: dict[int, list[str]] = {}

    def works(number: int) -> bool:
        raised = _raised(question, job, levels[number] + 1)
        found = sandbox.decide(raised, question.group).preemption
        if found is None or not found.victims:
            return False
        victims[number] = sorted(pod.key for pod in found.victims)
        return True

    for found in smallest(0, len(levels) - 1, works):
        if found is None:
            yield None
            continue
        above, evicts = levels[found], victims[found]
        text = f"with a priority above {above} it takes the room of {len(evicts)} pod{'s' if len(evicts) > 1 else ''}"
        yield PriorityRaised(above=above, evicts=evicts, message=text)


def _raised(question: Question, job: Job, priority: int) -> Job:
    book, gangs = question.sandbox.book, question.sandbox.cluster.gangs

    def raise_(member: PodRecord) -> PodRecord:
        raised = msgspec.structs.replace(member, priority=max(priority, member.priority))
        if book.in_use:
            raised.preemptible = book.is_preemptible(raised, gangs.get(member.gang) if member.gang else None)
        return raised

    return question.with_members(job, raise_)
