"""What a world is inclined to. Each leans to something else, so that things that are rare come together in some."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Temper:
    """Probabilities, but for the last ones."""

    nonstrict: float  # that a gang may accumulate
    grouped: float  # that it lists others
    whole: float  # that the members of a gang come at once
    restless: float  # that a scheduler dies or a watch breaks
    changing_nodes: float
    faulty: float  # that a call goes wrong
    slow: float  # that a call takes its time
    passing: float  # that some wait times end
    fickle: bool  # owners change their minds about gangs that are there
    on_timeout: str
    max_gap_percent: int
    kai: float = 0.0  # that a gang is KAI's
    graces: float = 0.0  # that a gang may lack members for some time only
    losing_nodes: float = 0.0  # that a node dies with all that runs there

    @classmethod
    def choose(cls, rng: random.Random) -> Temper:
        return cls.hoarding(rng) if rng.random() < 0.3 else cls.mixed(rng)

    def of_short_graces(self, rng: random.Random) -> Temper:
        """Gangs start, lose members, and time passes."""
        return replace(
            self,
            grouped=rng.choice([0.0, 1.0]),
            whole=0.95,
            fickle=rng.random() < 0.4,
            changing_nodes=rng.choice([0.2, 0.4]),
            restless=rng.choice([0.0, 0.02]),
            passing=rng.choice([0.1, 0.4]),
            graces=rng.choice([0.5, 1.0]),
            losing_nodes=rng.choice([0.03, 0.06]),
        )

    @classmethod
    def mixed(cls, rng: random.Random) -> Temper:
        return cls(
            nonstrict=rng.choice([0.1, 0.5, 0.95]),
            grouped=rng.choice([0.0, 0.2, 0.6]),
            whole=rng.choice([0.05, 0.5, 0.9]),
            restless=rng.choice([0.0, 0.03, 0.15]),
            changing_nodes=rng.choice([0.03, 0.1, 0.25]),
            faulty=rng.choice([0.0, 0.2, 0.5]),
            slow=rng.choice([0.1, 0.4, 0.8]),
            passing=rng.choice([0.0, 0.03, 0.15]),
            fickle=True,
            on_timeout=rng.choice(["Abandon", "Retry"]),
            max_gap_percent=rng.choice([100, 100, 50]),
        )

    @classmethod
    def hoarding(cls, rng: random.Random) -> Temper:
        """Several gangs accumulate at once and are in each other's way for long."""
        return cls(
            nonstrict=1.0,
            grouped=rng.choice([0.0, 0.3]),
            whole=0.9,
            restless=0.02,
            changing_nodes=rng.choice([0.03, 0.2]),
            faulty=rng.choice([0.0, 0.2]),
            slow=0.1,
            passing=0.0,
            fickle=False,
            on_timeout="Retry",
            max_gap_percent=100,
        )
