"""The scenes, in their order."""

from __future__ import annotations

from koordpy.sim.demo.scenes import explained, pytorchjob, queuejob, reservation, teams
from koordpy.sim.demo.scenes.stage import Scene

SCENES: tuple[Scene, ...] = (pytorchjob.play, teams.play, queuejob.play, reservation.play, explained.play)
