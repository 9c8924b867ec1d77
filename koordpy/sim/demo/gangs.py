"""What was seen of a gang as a whole: whether its members started together, and what they had waited for."""

from __future__ import annotations

from koordpy.sim.demo.seen import MOMENT_S, Seen, SeenPod, State
from koordpy.sim.demo.tree import placed
from koordpy.sim.demo.words import asks, count, names, phase_of, reason_in


def gang_story(seen: Seen, members: list[SeenPod]) -> str:
    """One paragraph."""
    bound = [pod for pod in members if State.BOUND in pod.since]
    needed = seen.needed(members[0])
    all_or_some = "all" if needed == len(members) else str(needed)
    parts = [f"A gang: {count(len(members), 'pod')} of {asks(members[0].asks)}, {all_or_some} together or none."]
    parts.append(_waited(seen, members, needed))
    if bound:
        times = [pod.since[State.BOUND] for pod in bound]
        spread_s = max(max(times) - min(times), 0.01)  # what is less than that can hardly be seen from here
        parts.append(f"{_number(bound, members)} were bound within {spread_s:.2f} s{why_now(seen, bound)}.")
    parts.append(_evictions(seen, members))
    gang = seen.gangs.get(members[0].gang)
    if gang is not None:
        where = placed(gang)
        parts.append(f"It was {where}." if where else "")
        parts.append(f"Its PodGroup is {phase_of(gang)}.")
    return " ".join(part for part in parts if part)


def why_now(seen: Seen, bound: list[SeenPod]) -> str:
    """What its members had waited for, if that can be seen: others that ended, or the last of themselves."""
    last = max(bound, key=lambda pod: pod.since[State.PENDING])
    came_s = min(pod.since[State.BOUND] for pod in bound) - last.since[State.PENDING]
    waited = [
        pod for pod in bound if State.WAITING in pod.since and pod.since[State.WAITING] < last.since[State.PENDING]
    ]
    if waited and came_s <= MOMENT_S:
        return f", the moment {last.name} came"
    ended = seen.made_room_for(bound)
    verb = "left" if any(pod.evicted_for for pod in ended) else "ended"
    return f", the moment {names(pod.name for pod in ended)} {verb}" if ended else ""


def _evictions(seen: Seen, members: list[SeenPod]) -> str:
    """Who had to leave for it, and whom it had to leave for."""
    victims = [pod for pod in seen.pods.values() if pod.evicted_for == members[0].gang]
    if victims:
        return f"{names(pod.name for pod in victims)} had to leave for it, and nobody else."
    for_whom = {pod.evicted_for for pod in members if pod.evicted_for}
    left = [pod for pod in members if pod.evicted_for]
    return f"{_number(left, members)} had to leave for {', '.join(sorted(for_whom))}." if left else ""


def _waited(seen: Seen, members: list[SeenPod], needed: int) -> str:
    """What they said while they waited, what they kept from others meanwhile, and whether that can have an end."""
    told = [pod for pod in members if pod.message]
    if not told:
        return ""
    waiting = any(pod.state is State.WAITING for pod in members)
    message = reason_in(told[-1].message).removesuffix(".")
    text = f"{'None is bound' if waiting else 'None was bound at first'}: “{message}.”"
    if others := _bound_meanwhile(seen, members):
        text += f" It {'holds' if waiting else 'held'} nothing: meanwhile {count(others, 'other pod')} got a node."
    if waiting and seen.is_too_big(members[0]):
        room = seen.room_when_empty(members[0])
        text += f" Empty, all nodes together have room for {room} of the {needed}: "
        text += "more nodes can help, or a lower minimum."
    return text


def _bound_meanwhile(seen: Seen, members: list[SeenPod]) -> int:
    since = min(pod.since[State.WAITING] for pod in members if State.WAITING in pod.since)
    until = min((pod.since[State.BOUND] for pod in members if State.BOUND in pod.since), default=float("inf"))
    others = (pod for pod in seen.pods.values() if pod.gang != members[0].gang)
    return sum(since < pod.since.get(State.BOUND, 0.0) < until for pod in others)


def _number(some: list[SeenPod], members: list[SeenPod]) -> str:
    return f"All {len(members)}" if len(some) == len(members) else str(len(some))
