"""Every change that is named starts the job when it is made, and a smaller one of its kind does not."""

from __future__ import annotations

import copy
import random

import pytest

from koordpy.api import answers
from koordpy.scheduler.answers import explaining
from tests.scheduler.answers.worlds import Description, explained

pytestmark = pytest.mark.random

TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "BUDGET_S", 60.0)


def random_world(dice: random.Random) -> Description:
    world = Description()
    for number in range(dice.randint(1, 4)):
        labels = {"pool": dice.choice("ab")} if dice.random() < 0.5 else {}
        taints = [TAINT] if dice.random() < 0.3 else []
        world.node(f"n{number}", cpu=dice.randint(1, 4), labels=labels, taints=taints, cordoned=dice.random() < 0.2)
    for number in range(dice.randint(0, 5)):
        on = dice.choice(world.nodes)["metadata"]["name"]
        world.runs(f"r{number}", on, cpu=dice.choice(["500m", 1, 2]), priority=dice.choice([0, 10]))
    minimum = dice.randint(1, 4)
    count = minimum + dice.choice([0, 0, 0, 1, -1])
    selector = {"pool": dice.choice("ab")} if dice.random() < 0.4 else None
    return world.gang(minimum, max(count, 1), cpu=dice.choice(["500m", 1, 2]), node_selector=selector)


@pytest.mark.parametrize("seed", range(150))
def test_a_change_that_is_named_starts_the_job_and_a_smaller_one_does_not(seed):
    world = random_world(random.Random(seed))
    if world.starts():
        return
    for change in explained(world.build()).changes:
        changed, smaller = made(world, change)
        if changed is not None:
            assert changed.starts(), change
        if smaller is not None:
            assert not smaller.starts(), change


@pytest.mark.parametrize("seed", range(40))
def test_where_ending_one_job_would_do_some_job_is_named(seed):
    world = random_world(random.Random(seed))
    if world.starts() or len(world.members) < world.minimum:
        return
    named = {change.job for change in explained(world.build()).changes if isinstance(change, answers.JobEnds)}
    enough = set()
    for pod in world.running:
        other = copy.deepcopy(world)
        other.running = [each for each in other.running if each["metadata"]["name"] != pod["metadata"]["name"]]
        if other.starts():
            enough.add(f"default/{pod['metadata']['name']}")
    assert named <= enough
    assert bool(named) == bool(enough)


def made(  # noqa: C901, PLR0911, PLR0912 - one case for each kind
    world: Description, change: answers.AnyChange
) -> tuple[Description | None, Description | None]:
    """The world with a change made to it, and with a smaller one of its kind."""
    one, less = copy.deepcopy(world), copy.deepcopy(world)
    match change:
        case answers.MinimumLowered(to=to):
            one.minimum, less.minimum = to, to + 1
            return one, less
        case answers.JobEnds(job=job):
            one.running = [each for each in one.running if f"default/{each['metadata']['name']}" != job]
            return one, world
        case answers.NodeAdded(like=like, count=count):
            model = next(each for each in world.nodes if each["metadata"]["name"] == like)
            for target, number in ((one, count), (less, count - 1)):
                for extra in range(number):
                    target.nodes.append(_another(model, f"extra-{extra}"))
            return one, less
        case answers.NodeUncordoned(node=node):
            _node(one, node)["spec"].pop("unschedulable")
        case answers.TaintRemoved(node=node):
            _node(one, node)["spec"].pop("taints")
        case answers.NodeLabelled(node=node, key=key, value=value):
            _node(one, node)["metadata"]["labels"][key] = value
        case answers.TolerationAdded(key=key, effect=effect):
            for pod in one.members:
                pod["spec"]["tolerations"] = [{"key": key, "operator": "Exists", "effect": effect}]
        case answers.SelectorDropped(key=key):
            for pod in one.members:
                pod["spec"]["nodeSelector"].pop(key, None)
        case answers.RequestLowered(to=to):
            for target, amount in ((one, _milli(to)), (less, _milli(to) + 1)):
                for pod in target.members:
                    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = f"{amount}m"
            return one, less
        case answers.MembersAdded(count=count):
            for target, number in ((one, count), (less, count - 1)):
                for extra in range(number):
                    pod = copy.deepcopy(world.members[0])
                    pod["metadata"] |= {"name": f"more-{extra}", "uid": f"more-{extra}"}
                    target.members.append(pod)
            return one, less
        case answers.PriorityRaised(evicts=evicts):
            one.running = [each for each in one.running if f"default/{each['metadata']['name']}" not in evicts]
        case _:
            return None, None
    return one, world


def _another(model, name):
    extra = copy.deepcopy(model)
    extra["metadata"]["name"] = name
    extra["metadata"]["labels"]["kubernetes.io/hostname"] = name
    extra["spec"].pop("unschedulable", None)
    return extra


def _node(world, name):
    return next(each for each in world.nodes if each["metadata"]["name"] == name)


def _milli(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1000
