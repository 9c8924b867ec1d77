"""Gangs in shorthand: one letter per member.

`p` pending, `g` gated, `b` bound, `r` running, `s` succeeded, `f` failed; a capital letter is a pod being deleted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from koordpy.api.gangs import DECLARES_NOTHING, GangDeclaration
from koordpy.api.meta import ObjectMeta
from koordpy.api.podgroup.coscheduling import SIGS_GROUP, PodGroup, PodGroupSpec, PodGroupStatus, gang_object_of
from koordpy.api.podgroup.gangobject import GangObject
from koordpy.controllers.podgroup import status as derived
from koordpy.controllers.podgroup.members import Member

PHASES = {"p": "Pending", "g": "Pending", "b": "Pending", "r": "Running", "s": "Succeeded", "f": "Failed"}
NOTHING = PodGroupStatus()


def member(letter: str, number: int = 0, **given: Any) -> Member:
    """The member for a letter; the higher its number, the younger it is, and the later it was bound."""
    kind = letter.lower()
    fields = {
        "name": f"p{number}",
        "created": f"2026-01-01T00:{number:02}:00Z",
        "scheduler": "koord-scheduler",
        "phase": PHASES[kind],
        "bound_at": 1000.0 + number if kind in "brsf" else None,
        "gated": kind == "g",
        "terminating": letter.isupper(),
        "owners": "",
        "declaration": DECLARES_NOTHING,
    }
    return Member(**(fields | given))


def members(letters: str, **given: Any) -> list[Member]:
    return [member(letter, number, **given) for number, letter in enumerate(letters)]


def saying(minimum: int) -> GangDeclaration:
    return GangDeclaration(minimum=minimum)


def group(minimum: int = 4, **annotations: str) -> GangObject:
    """What a PodGroup says; annotations by the last part of their key: `min_available="3"`."""
    return gang_object_of(SIGS_GROUP, pod_group(minimum, **annotations))


def pod_group(minimum: int = 4, **annotations: str) -> PodGroup:
    keys = {f"gang.scheduling.koordinator.sh/{name.replace('_', '-')}": text for name, text in annotations.items()}
    meta = ObjectMeta("g", namespace="default", uid="u", annotations=keys)
    return PodGroup(metadata=meta, spec=PodGroupSpec(min_member=minimum))


def status(phase: str, **counts: Any) -> PodGroupStatus:
    return PodGroupStatus(phase=phase, **counts)


def status_of(gang: Collection[Member], pod_group: GangObject | None, previous: PodGroupStatus) -> PodGroupStatus:
    """Without its conditions, which have rules of their own."""
    found = derived.status_of(gang, pod_group, previous, "2026-01-02T00:00:00Z")
    return msgspec.structs.replace(found, conditions=())
