"""Every state that a small world can be in, and every move from each: in whatever order jobs and victims are chosen.

Nothing is remembered from one move to the next, so a state is the set of jobs that run.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from koordpy.quota.reclaim import Basis, Claim, Taken
from koordpy.quota.shares import divide
from koordpy.quota.tree import QueueTree
from koordpy.quota.usage import Usage
from koordpy.state.arrays import Ints

State = frozenset[int]
Jobs = list[tuple[int, Ints]]  # queue and amounts


class Walk:
    """All moves: a job starts where there is room, or else by a claim with lawful victims none of which is spared."""

    def __init__(self, tree: QueueTree, capacity: Ints, jobs: Jobs) -> None:
        self._tree, self._capacity, self._jobs = tree, capacity, jobs
        asked = Usage(tree)
        for row, amounts in jobs:
            asked.request(row, amounts)
        self._shares = divide(capacity, tree, asked.asked())

    def evictions_in_a_cycle(self) -> list[tuple[State, State]]:
        """Moves with victims that lead to a state from which there is a way back."""
        moves = {state: list(self._moves(state)) for state in self._states()}
        reached = {state: self._reachable(state, moves) for state in moves}
        return [(one, other) for one in moves for other, evicts in moves[one] if evicts and one in reached[other]]

    def _states(self) -> Iterator[State]:
        for number in range(len(self._jobs) + 1):
            for running in combinations(range(len(self._jobs)), number):
                if (self._sum(running) <= self._capacity).all():
                    yield frozenset(running)

    def _reachable(self, start: State, moves: dict[State, list[tuple[State, bool]]]) -> set[State]:
        found, todo = {start}, [start]
        while todo:
            for other, _ in moves[todo.pop()]:
                if other not in found:
                    found.add(other)
                    todo.append(other)
        return found

    def _sum(self, jobs: tuple[int, ...] | State) -> Ints:
        total: Ints = sum((self._jobs[each][1] for each in jobs), np.zeros_like(self._capacity))
        return total

    def _moves(self, state: State) -> Iterator[tuple[State, bool]]:
        usage = Usage(self._tree)
        for each in state:
            usage.allocate(self._jobs[each][0], self._jobs[each][1], preemptible=True)
        free = self._capacity - self._sum(state)
        for number in set(range(len(self._jobs))) - state:
            row, amounts = self._jobs[number]
            if (amounts <= free).all():
                yield state | {number}, False
                continue
            for basis in Basis:
                claim = Claim(usage, self._shares, row, amounts, basis=basis)
                lawful = list(self._victims(claim, state, amounts - free))
                yield from ((state - set(victims) | {number}, True) for victims in lawful)
                if lawful:
                    break

    def _victims(self, claim: Claim, state: State, needed: Ints) -> Iterator[tuple[int, ...]]:
        enough: list[set[int]] = []
        for number in range(1, len(state) + 1):
            for victims in combinations(sorted(state), number):
                if any(fewer <= set(victims) for fewer in enough) or (self._sum(victims) < needed).any():
                    continue
                if not claim.objection([Taken(*self._jobs[each]) for each in victims]):
                    enough.append(set(victims))
                    yield victims
