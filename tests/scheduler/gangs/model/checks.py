"""What must hold: at any step, whenever a world is at rest, and in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.scheduler.gangs.model.asleep import (
    a_flush_finds_nobody,
    nobody_oversleeps,
    nobody_stands_in_its_own_way,
    nobody_waits_for_each_other,
)
from tests.scheduler.gangs.model.held import (
    every_place_has_an_owner,
    nothing_is_under_way,
    the_room_is_for_those_who_accumulate,
    what_is_bound_is_counted,
)
from tests.scheduler.gangs.model.picture import (
    gangs_are_as_they_are,
    nodes_count_what_is_there,
    nothing_is_kept_of_the_gone,
)
from tests.scheduler.gangs.model.said import conditions_are_true
from tests.scheduler.gangs.model.stranded import nobody_is_left_stranded
from tests.scheduler.gangs.model.world import World

Check = Callable[[World], Iterator[str]]  # yields what is wrong, in words

AT_ANY_STEP: tuple[Check, ...] = (every_place_has_an_owner, what_is_bound_is_counted)
AT_REST: tuple[Check, ...] = (
    *AT_ANY_STEP,
    nothing_is_under_way,
    the_room_is_for_those_who_accumulate,
    gangs_are_as_they_are,
    nodes_count_what_is_there,
    nothing_is_kept_of_the_gone,
    nobody_oversleeps,
    nobody_waits_for_each_other,
    nobody_stands_in_its_own_way,
    conditions_are_true,
)
IN_THE_END: tuple[Check, ...] = (*AT_REST, a_flush_finds_nobody, nobody_is_left_stranded)


def wrong_with(world: World, checks: tuple[Check, ...]) -> list[str]:
    """What the world has noticed itself so far, and what these find."""
    return world.wrong + world.api.wrong + [wrong for check in checks for wrong in check(world)]
