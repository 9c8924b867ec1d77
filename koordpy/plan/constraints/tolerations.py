"""Which taints a pod tolerates: decided once per set of taints, looked up for all nodes."""

from __future__ import annotations

import numpy as np

from koordpy.api.affinity import Toleration
from koordpy.api.keys import UNSCHEDULABLE_TAINT
from koordpy.api.node import Taint
from koordpy.state.arrays import Bools
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.shapes import Shape

_HARD_EFFECTS = ("NoSchedule", "NoExecute")
_CORDON = Taint(key=UNSCHEDULABLE_TAINT, effect="NoSchedule")


def admits(shape: Shape, nodes: NodeColumns) -> Bools:
    """`[N]`: nodes without a NoSchedule or NoExecute taint that the shape does not tolerate."""

    def compute() -> Bools:
        tolerations = shape.traits.tolerations
        by_set = [
            all(tolerated(t, tolerations) for t in taints if t.effect in _HARD_EFFECTS) for taints in nodes.taint_sets
        ]
        return np.array(by_set)[nodes.taint_code]

    return shape.remember("admitted by taints", nodes.static_generation, compute)


def tolerates_cordon(shape: Shape) -> bool:
    return tolerated(_CORDON, shape.traits.tolerations)


def tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value
