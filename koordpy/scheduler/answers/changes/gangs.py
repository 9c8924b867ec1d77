"""Changes to the gangs of a job: gates, members, minimum, and how near together they have to be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from koordpy.api.answers import AnyChange, GateRemoved, GatherRelaxed, MembersAdded, MinimumLowered
from koordpy.api.topology import gather_rules
from koordpy.plan.framework.job import Job
from koordpy.scheduler.answers.question import Question, largest
from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.spec import GangSpec
from koordpy.state.pods import PodRecord

_MOST_ADDED = 1024  # members that are made up to complete a gang


def gates_removed(question: Question) -> Iterator[AnyChange | None]:
    """All that is missing are members whose gates are not gone."""
    cluster = question.sandbox.cluster
    if not question.group:
        record = cluster.pods.get(question.key)
        if record is not None and record.gated:
            open_ = msgspec.structs.replace(record, gated=False)
            if question.starts(Job(question.key, (open_,), queue=question.queue)):
                yield GateRemoved(members=[record.key], message=f"the scheduling gates of {record.key} are removed")
        return
    gated = [
        member
        for gang in cluster.gangs.own(question.group)
        for member in sorted(gang.absent.values(), key=lambda each: (each.created, each.name))[: _lacks(gang) or None]
        if member.gated and not member.terminating and _lacks(gang)
    ]
    if not gated:
        return
    with _members(question, [(member, msgspec.structs.replace(member, gated=False)) for member in gated]):
        starts = question.starts()
    if starts:
        names = sorted(member.key for member in gated)
        yield GateRemoved(members=names, message=f"the scheduling gates of {_few(names)} are removed")


def members_added(question: Question) -> Iterator[AnyChange | None]:
    """An incomplete gang gets the members that it lacks, like those that it has."""
    cluster = question.sandbox.cluster
    lacking = [gang for gang in cluster.gangs.own(question.group) if gang.initialised and not gang.has_enough]
    if len(lacking) != 1 or lacking[0].spec.subgroups is not None:
        return
    gang, count = lacking[0], _lacks(lacking[0])
    like = next((member for member in gang.all_live() if not member.terminating), None)
    if like is None or not 0 < count <= _MOST_ADDED:
        return
    made = [_made_up(like, number) for number in range(count)]
    with _members(question, [(None, record) for record in made]):
        starts = question.starts()
    if starts:
        more = f"{count} more member{'s' if count > 1 else ''} of gang {gang.name} {'are' if count > 1 else 'is'}"
        yield MembersAdded(gang=gang.name, count=count, message=f"{more} created, like {like.key}")


def minimum_lowered(question: Question) -> Iterator[AnyChange | None]:
    """Fewer members have to start together."""
    for gang in question.sandbox.cluster.gangs.own(question.group):
        before = gang.minimum
        least = max(1, gang.spec.subgroups.least if gang.spec.subgroups is not None else 1)

        def works(minimum: int, gang: Gang = gang) -> bool:
            with _spec(gang, gang.spec._replace(minimum=minimum)):
                return question.starts()

        for found in largest(least, before - 1, works):
            if found is None:
                yield None
                continue
            text = f"the minimum of gang {gang.name} is lowered from {before} to {found}"
            yield MinimumLowered(gang=gang.name, from_=before, to=found, message=text)


def gather_relaxed(question: Question) -> Iterator[AnyChange | None]:
    """The gang may be spread wider: over a higher layer, or anywhere."""
    topology = question.sandbox.cluster.topology
    for gang in question.sandbox.cluster.gangs.own(question.group):
        if not gang.spec.topology:
            continue
        for rule in gather_rules(gang.spec.topology):
            level = topology.level_of(rule.layer) if rule.must else None
            if level is None and not rule.must:
                continue
            wider = [each.layer for each in topology.levels[level - 1 : 0 : -1]] if level is not None else []
            shown = topology.levels[level].layer if level is not None else rule.layer
            for to in (*wider, None):
                with _spec(gang, gang.spec._replace(topology=_relaxed(gang.spec.topology, rule.layer, to))):
                    starts = question.starts()
                if starts:
                    text = f"gang {gang.name} need not be gathered in one domain of {shown}"
                    text += f", but in one of {to}" if to else ""
                    yield GatherRelaxed(gang=gang.name, layer=shown, to=to, message=text)
                    break
                yield None


def _relaxed(text: str, layer: str, to: str | None) -> str:
    """The spec with MustGather on a layer moved to another one, or gone."""
    spec = msgspec.json.decode(text)
    rules = []
    for rule in spec.get("gatherStrategy", ()):
        is_meant = rule["layer"].lower() == layer.lower() and rule.get("strategy", "").lower() == "mustgather"
        if is_meant and to is None:
            continue
        rules.append({**rule, "layer": to} if is_meant else rule)
    return msgspec.json.encode({**spec, "gatherStrategy": rules}).decode()


def _lacks(gang: Gang) -> int:
    return max(0, gang.minimum - gang.collected)


def _made_up(like: PodRecord, number: int) -> PodRecord:
    name = f"{like.name}-more-{number}"
    return msgspec.structs.replace(
        like, uid=f"{like.uid}-more-{number}", name=name, node="", bound=False, gated=False, nominated_node="",
        timed_out=False,
    )  # fmt: skip


@contextmanager
def _spec(gang: Gang, spec: GangSpec) -> Iterator[None]:
    before, gang.spec = gang.spec, spec
    try:
        yield
    finally:
        gang.spec = before


@contextmanager
def _members(question: Question, changes: list[tuple[PodRecord | None, PodRecord]]) -> Iterator[None]:
    """Members of a gang are changed, or made up."""
    cluster = question.sandbox.cluster
    for before, now in changes:
        cluster.pods[now.uid] = now
        cluster.gangs.member_changed(before, now)
    try:
        yield
    finally:
        for before, now in changes:
            if before is None:
                del cluster.pods[now.uid]
                cluster.gangs.member_gone(now)
            else:
                cluster.pods[now.uid] = before
                cluster.gangs.member_changed(now, before)


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
