"""What administrators do to nodes, at random: few and small ones, so that gangs are in each other's way."""

from __future__ import annotations

import random

from tests.builders import Json, node_json
from tests.scheduler.gangs.model.truth import NODES, Truth

_MOST_NODES = 4
_MOST_CPU = 6


class Admins:
    """Nodes come, go, grow, shrink and are cordoned."""

    def __init__(self, truth: Truth, rng: random.Random) -> None:
        self._truth, self._rng = truth, rng
        self._number = 0
        self.most_cpu: dict[str, int] = {}  # node -> the most it ever had
        for _ in range(2):
            self._new_node()

    def disturb(self) -> None:
        """One thing happens."""
        if len(self._nodes) < _MOST_NODES and self._rng.random() < 0.5:
            self._new_node()
        elif self._nodes:
            self._change_node()

    @property
    def _nodes(self) -> dict[str, Json]:
        return self._truth.objects[NODES]

    def _new_node(self) -> None:
        self._number += 1
        name, cpu = f"n{self._number}", self._rng.choice([1, 2, 3, 4])
        labels: dict[str, str | None] = {"pool": self._rng.choice("xy")}
        self.most_cpu[name] = cpu
        self._truth.changed(NODES, node_json(name, cpu=cpu, labels=labels, cordoned=self._rng.random() < 0.1))

    def _change_node(self) -> None:
        name = self._rng.choice(list(self._nodes))
        node = self._nodes[name]
        match self._rng.choice(["cordon", "resize", "resize", "leave"]):
            case "cordon":
                node["spec"]["unschedulable"] = not node["spec"].get("unschedulable")
            case "resize":
                cpu = int(node["status"]["allocatable"]["cpu"]) + self._rng.choice([-2, -1, 1, 2])
                node["status"]["allocatable"]["cpu"] = str(min(max(cpu, 0), _MOST_CPU))
                self.most_cpu[name] = max(self.most_cpu[name], cpu)
            case "leave":
                self._truth.delete(NODES, name)
                return
        self._truth.changed(NODES, node)
