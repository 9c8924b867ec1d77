"""A history: what the world is, and what happens in it at which time. Drawn from a seed, and short enough to read."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, NamedTuple

from koordpy.sim.simulate.objects import FRONT_ENDS
from koordpy.sim.simulate.weather import CALLS, REFUSED, WATCHES, Window

Json = dict[str, Any]

ACTIVE_S = 100.0  # in which things happen
SCHEDULERS = ("scheduler-a", "scheduler-b")
MACHINES = (*SCHEDULERS, "controllers-a", "controllers-b")
_OWNERS = ("QueueJob", "Job", "PyTorchJob")


class Step(NamedTuple):
    """Somebody does something."""

    at: float
    verb: str
    arguments: Json

    def __str__(self) -> str:
        told = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        return f"{self.at:8.3f} {self.verb}({told})"


@dataclass(frozen=True)
class History:
    seed: int
    steps: tuple[Step, ...]
    windows: tuple[Window, ...]

    def lines(self) -> list[str]:
        timed = [(step.at, str(step)) for step in self.steps] + [(each.begins, str(each)) for each in self.windows]
        return [f"seed {self.seed}", *(told for _, told in sorted(timed))]


def drawn(seed: int) -> History:
    """The history of a seed."""
    return _Author(seed).write()


class _Author:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._dice = dice = random.Random(f"history {seed}")  # noqa: S311 - see Machine
        self._steps: list[Step] = []
        self._nodes = {f"node-{number}": (dice.choice((2, 4, 6, 8)), 0) for number in range(dice.randint(2, 5))}
        if dice.random() < 0.3:
            self._nodes["node-0"] = (self._nodes["node-0"][0], 4)
        self._gangs: dict[str, Json] = {}
        self._owners: dict[str, str] = {}
        self._names = 0
        self._queues = ["team-a", "team-b"] if dice.random() < 0.35 else []
        self._non_strict = dice.random() < 0.15
        self._declares = dice.random() < 0.25  # run times, and some of them are true
        self._racks = [f"rack-{number}" for number in range(2)] if dice.random() < 0.25 else []
        self._rack_of = {name: dice.choice(self._racks) for name in self._nodes} if self._racks else {}

    def write(self) -> History:
        dice = self._dice
        for name, (cpu, gpu) in self._nodes.items():
            self._add(0.0, "node", name=name, cpu=cpu, gpu=gpu, **self._placed(name))
        if self._racks:
            self._add(0.0, "topology", says="racks")
        if self._queues:
            self._draw_queues()
        verbs = self._verbs()
        for _ in range(dice.randint(6, 24)):
            at = round(dice.uniform(0.0, ACTIVE_S), 3)
            dice.choice(verbs)(at)
        if dice.random() < 0.5:
            self._draw_mishaps()
        windows = self._windows() if dice.random() < 0.7 else []
        return History(self._seed, tuple(sorted(self._steps, key=lambda step: step.at)), tuple(windows))

    def _verbs(self) -> list[Any]:
        """What may happen in this world; what stands more than once is more likely."""
        dice = self._dice
        verbs = [self._pod, self._pod, self._gang, self._gang, self._gang, self._gang, self._delete, self._change]
        if dice.random() < 0.4:
            verbs += [self._owner, self._owner]
        if dice.random() < 0.2:
            verbs += [self._pair]
        if dice.random() < 0.4:
            verbs += [self._disturb_node]
        if dice.random() < 0.3:
            verbs += [self._foreign]
        if dice.random() < 0.2:
            verbs += [self._garbage]
        if self._queues:
            verbs += [self._change_queue]
        if self._racks:
            verbs += [self._change_network]
        return verbs

    def _placed(self, node: str) -> Json:
        """In which rack it stands."""
        return {"rack": self._rack_of[node]} if self._racks else {}

    def _add(self, at: float, verb: str, **arguments: Any) -> None:
        self._steps.append(Step(at, verb, arguments))

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}{self._names}"

    def _ask(self) -> Json:
        """What one pod asks for."""
        dice = self._dice
        ask: Json = {"cpu": dice.choice((1, 1, 2, 2, 3, 4))}
        if dice.random() < 0.6:
            ask["priority"] = dice.choice(["low", "mid", "high", *([] if self._queues else ["urgent"])])
        if dice.random() < 0.1 and any(gpu for _, gpu in self._nodes.values()):
            ask["gpu"] = dice.choice((1, 2))
        if dice.random() < 0.5:
            ask["run_s"] = dice.choice((5, 15, 40))
            if dice.random() < 0.2:
                ask["exit_code"] = 1
            if self._declares:
                ask["declared_s"] = max(1, int(ask["run_s"] * dice.choice((0.5, 1, 1, 2, 4))))
        if self._queues and dice.random() < 0.8:
            ask["queue"] = dice.choice(self._queues)
        return ask

    # --- jobs ---

    def _pod(self, at: float) -> None:
        self._add(at, "pod", name=self._name("pod"), **self._ask())

    def _gang(self, at: float) -> None:
        dice, name = self._dice, self._name("gang")
        members = dice.randint(2, 6)
        ask = self._ask() | {"frontend": dice.choice(FRONT_ENDS), "members": members}
        ask["minimum"] = dice.choice((members, members, max(members - 1, 1)))
        if self._non_strict and ask["frontend"] in ("annotations", "sigs") and dice.random() < 0.5:
            ask["mode"] = "NonStrict"
        if self._racks and dice.random() < 0.5:
            ask["gather"] = dice.choice(("MustGather", "MustGather", "PreferGather"))
        if dice.random() < 0.3:
            ask["every_s"] = dice.choice((0.02, 0.5))
        if dice.random() < 0.3:
            ask["late"] = True
        self._gangs[name] = ask
        self._add(at, "gang", name=name, **ask)

    def _pair(self, at: float) -> None:
        """Two gangs that start together, the second of which may come later."""
        dice, names = self._dice, (self._name("gang"), self._name("gang"))
        for name in names:
            members = dice.randint(1, 3)
            ask = self._ask() | {"frontend": "annotations", "members": members, "minimum": members, "group": names}
            self._gangs[name] = ask
            self._add(at, "gang", name=name, **ask)
            at = round(at + dice.choice((0.0, 0.5, 10.0)), 3)

    def _owner(self, at: float) -> None:
        dice, kind = self._dice, self._dice.choice(_OWNERS)
        name = self._name(kind.lower())
        members = dice.randint(2, 4)
        self._owners[name] = kind
        ask = self._ask() | {"members": members, "minimum": dice.choice((members, members - 1))}
        self._add(at, "owner", name=name, kind=kind, **ask)

    def _delete(self, at: float) -> None:
        dice = self._dice
        if self._owners and dice.random() < 0.3:
            name = dice.choice(list(self._owners))
            self._add(at, "delete_owner", name=name, kind=self._owners[name])
        elif self._gangs:
            name = dice.choice(list(self._gangs))
            if dice.random() < 0.5:
                self._add(at, "delete_gang", name=name, frontend=self._gangs[name]["frontend"])
            else:
                self._add(at, "delete_pods", prefix=f"{name}-{dice.randrange(self._gangs[name]['members'])}")

    def _change(self, at: float) -> None:
        dice = self._dice
        if not self._gangs:
            return
        name = dice.choice(list(self._gangs))
        ask = self._gangs[name]
        kind = dice.choice(("resubmit", "grow", "require"))
        if kind == "resubmit":
            self._add(at, "resubmit", name=name, after_s=dice.choice((0.0, 0.5, 3.0)), **ask)
        elif kind == "grow":
            self._add(at, "grow", name=name, first=ask["members"], count=dice.randint(1, 2), **ask)
        else:
            minimum = max(1, ask["minimum"] + dice.choice((-1, 1)))
            self._add(at, "require", name=name, frontend=ask["frontend"], minimum=minimum)

    # --- queues, nodes, others ---

    def _draw_queues(self) -> None:
        self._add(0.0, "queue", name="all", quota=self._dice.choice((4, 8)), limit=self._dice.choice((None, 10)))
        for name in self._queues:
            self._change_queue(0.0, name)

    def _change_queue(self, at: float, name: str = "") -> None:
        dice = self._dice
        ask = {"parent": "all", "quota": dice.choice((0, 2, 4)), "limit": dice.choice((None, 4, 6, 8))}
        name = name or dice.choice(self._queues)
        if at and dice.random() < 0.2:
            self._add(at, "delete_queue", name=name)
            at = round(at + dice.choice((1.0, 10.0)), 3)
        self._add(at, "queue", name=name, **ask)

    def _disturb_node(self, at: float) -> None:
        dice, name = self._dice, self._dice.choice(list(self._nodes))
        cpu, gpu = self._nodes[name]
        kind = dice.choice(("lose", "resize", "cordon"))
        back = round(at + dice.choice((2.0, 12.0)), 3)
        if kind == "lose":
            self._add(at, "lose_node", name=name)
            self._add(back, "node", name=name, cpu=cpu, gpu=gpu, **self._placed(name))
        elif kind == "resize":
            self._add(at, "node", name=name, cpu=max(1, cpu + dice.choice((-2, 2))), gpu=gpu)
        else:
            self._add(at, "cordon", name=name, unschedulable=True)
            self._add(back, "cordon", name=name, unschedulable=False)

    def _change_network(self, at: float) -> None:
        dice = self._dice
        if dice.random() < 0.5:
            self._add(at, "move", name=dice.choice(list(self._nodes)), rack=dice.choice((*self._racks, None)))
        else:
            self._add(at, "topology", says=dice.choice(("circle", "nothing", "")))
            self._add(round(at + dice.choice((1.0, 10.0)), 3), "topology", says="racks")

    def _foreign(self, at: float) -> None:
        ask = {"cpu": self._dice.choice((1, 2)), "run_s": self._dice.choice((10, 60))}
        self._add(at, "foreign", name=self._name("foreign"), node=self._dice.choice(list(self._nodes)), **ask)

    def _garbage(self, at: float) -> None:
        self._add(at, "garbage", name=self._name("odd"), which=self._dice.randrange(8))

    # --- machines and the network ---

    def _draw_mishaps(self) -> None:
        dice = self._dice
        for _ in range(dice.randint(1, 4)):
            at = round(dice.uniform(1.0, ACTIVE_S - 10), 3)
            verb = dice.choice(("kill", "kill_at", "kill_at", "end", "pause", "jump"))
            if verb == "jump" and self._declares:
                continue  # by a clock that is wrong, others have outlived what they declared
            machine = dice.choice(MACHINES)
            if verb == "kill_at":
                self._draw_kill(at, machine)
                continue
            seconds = {
                "kill": (0.1, 5.0, 20.0),
                "end": (0.1, 5.0, 20.0),
                "pause": (3.0, 12.0, 30.0),
                "jump": (-3600.0, -5.0, 5.0, 3600.0),
            }[verb]
            self._add(at, verb, machine=machine, seconds=dice.choice(seconds))

    def _draw_kill(self, at: float, machine: str) -> None:
        dice = self._dice
        call = dice.choice(("binding", "binding", "PATCH", "DELETE", "POST", "PUT"))
        when = {"call": call, "nth": dice.choice((1, 1, 2, 3)), "sent": dice.random() < 0.5}
        self._add(at, "kill_at", machine=machine, **when, seconds=dice.choice((0.1, 5.0, 20.0)))

    def _windows(self) -> list[Window]:
        dice, windows = self._dice, []
        for _ in range(dice.randint(1, 5)):
            begins = round(dice.uniform(0.0, ACTIVE_S * 0.9), 3)
            ends = round(min(begins + dice.choice((2.0, 10.0, 40.0)), ACTIVE_S), 3)
            fault = dice.choice((*CALLS, *CALLS, *WATCHES))
            verb = dice.choice(("", "", "binding", "PATCH", "POST", "DELETE")) if fault in CALLS else ""
            status = dice.choice(REFUSED) if fault == "refuse" else 0
            machine = dice.choice(("", "", "scheduler", "controllers"))
            windows.append(Window(begins, ends, fault, dice.choice((0.05, 0.3, 0.9)), machine, verb, status))
        return windows
