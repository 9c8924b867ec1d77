"""Why does it wait, and what would start it? The gang that has waited since the beginning, explained."""

from __future__ import annotations

from koordpy.api.answers import Explanation
from koordpy.sim.demo.scenes.stage import Stage
from koordpy.sim.demo.workload import HUGE


async def play(stage: Stage) -> tuple[str, str]:
    stage.open(f"why does {HUGE.name} wait, and what would start it?")
    await stage.command("explain", f"default/{HUGE.name}")
    await stage.linger(pages=3)
    answer = await stage.ask(f"/jobs/default/{HUGE.name}", Explanation)
    changes = "; or ".join(change.message for change in answer.changes)
    return "answer", f"`koordpy explain default/{HUGE.name}`: it would start now if {changes}." if changes else ""
