"""Random small stages. Few values for everything, so that budgets, gangs and priorities meet often."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.plan.constraints import HOSTNAME, affinity, host_port, pod_term, selector
from tests.plan.preemption.stage import HIGH, JOB_KEY, Stage

_MOST_VICTIMS = 7


def stage_of(seed: int, *, plain: bool = False) -> Stage:
    """`plain`: pods mind nothing but room."""
    rng = Random(seed)
    stage = Stage()
    nodes = [f"n{number}" for number in range(1, rng.randint(1, 3) + 1)]
    free = {name: rng.randint(1, 5) for name in nodes}
    for name, cpu in free.items():
        stage.node(name, cpu=cpu, labels={"zone": rng.choice("ab")})
    for name in ("g", "h"):
        if rng.random() < 0.6:
            stage.gang(name, minimum=rng.randint(1, 3), mode=rng.choice(("", "", "Minimum", "Single", "All")))
    for number in range(rng.randint(1, _MOST_VICTIMS)):
        _run_one(stage, rng, f"v{number}", free, plain=plain)
    for number in range(rng.choice((0, 0, 1, 2))):
        labels = rng.choice(({"app": "a"}, {"app": "b"}, {"tier": "x"}))
        stage.budget(f"b{number}", rng.choice((0, 1, 2)), **labels)
    if rng.random() < 0.25:
        stage.waits("promised", rng.choice(nodes), priority=rng.choice((0, 1, HIGH, HIGH + 1)))
    _want(stage, rng, plain=plain)
    return stage


def _run_one(stage: Stage, rng: Random, name: str, free: dict[str, int], *, plain: bool) -> None:
    """Somewhere where there is room, as a scheduler would have put it."""
    cpu = rng.choice((1, 1, 2, 3))
    nodes = [node for node, left in free.items() if left >= cpu]
    if not nodes:
        return
    node = rng.choice(nodes)
    free[node] -= cpu
    labels = {"app": rng.choice("ab")} | ({"tier": "x"} if rng.random() < 0.3 else {})
    if rng.random() < 0.15:
        labels[JOB_KEY] = rng.choice(("k1", "k2"))
    if rng.random() < 0.07:
        labels["scheduling.koordinator.sh/disable-preemptible"] = "true"
    given: dict[str, Any] = {"cpu": cpu, "priority": rng.choice((0, 0, 1, 2, HIGH)), "labels": labels}
    if rng.random() < 0.4:
        given["gang"] = rng.choice("gh")
    if rng.random() < 0.7:
        given["started"] = rng.randint(1, 5)
    if rng.random() < 0.06:
        given["terminating"] = True
    if rng.random() < 0.1:
        given["scheduler"] = "default-scheduler"
    if not plain and rng.random() < 0.3:
        given |= _constraint(rng)
    stage.runs(name, node, **given)


def _want(stage: Stage, rng: Random, *, plain: bool) -> None:
    given: dict[str, Any] = {"labels": {"app": rng.choice("ab")}}
    if not plain and rng.random() < 0.4:
        given |= _constraint(rng)
    if rng.random() < 0.4:
        stage.wants("p", cpu=rng.randint(1, 4), **given)
        return
    for gang in ("x", "y")[: rng.choice((1, 1, 2))]:
        members = [f"{gang}{number}" for number in range(1, rng.randint(1, 3) + 1)]
        stage.wants_gang(gang, *members, minimum=rng.randint(1, len(members)), cpu=rng.randint(1, 3), **given)


def _constraint(rng: Random) -> dict[str, Any]:
    term = pod_term(rng.choice((HOSTNAME, "zone")), selector(app=rng.choice("ab")))
    return rng.choice(
        ({"affinity": affinity(apart=[term])}, {"host_ports": [host_port(80)]}, {"affinity": affinity(near=[term])})
    )
