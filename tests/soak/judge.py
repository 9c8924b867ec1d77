"""What must never be seen in the API: nodes with more than they have, gangs that stay half bound, pods that move.

It is told every version of every pod, in the order in which the API server wrote them. It knows the gang of a pod from
two annotations that the load puts on all of its pods, whatever front-end they use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from koordpy.sim.simulate.truth import Amounts, Json, allocatable, asked, is_finished, is_terminating, node_of

GANG, MINIMUM = "soak.example.com/gang", "soak.example.com/minimum"
# A leader that was killed while it bound a gang is replaced when its lease is over, and the next one has to start.
WHOLE_WITHIN_S = 60.0


@dataclass
class Gang:
    """`started` since it had its minimum, until the last of its pods is gone."""

    minimum: int
    pods: dict[str, Json] = field(default_factory=dict)  # by UID
    started: bool = False
    partial_since: float | None = None

    @property
    def standing(self) -> int:
        """Members that were started, and neither failed nor are they about to go."""
        return sum(
            bool(node_of(pod)) and not is_terminating(pod) and pod.get("status", {}).get("phase") != "Failed"
            for pod in self.pods.values()
        )


class Judge:
    """`wrong` is what it has seen so far."""

    def __init__(self, nodes: Iterable[Json], clock: Callable[[], float]) -> None:
        self._has = {node["metadata"]["name"]: allocatable(node) for node in nodes}
        self._clock = clock
        self._used: dict[str, Counter[str]] = {name: Counter() for name in self._has}
        self._charged: dict[str, tuple[str, Amounts]] = {}  # what a pod takes on its node, by UID
        self._node_of: dict[str, str] = {}  # by UID
        self.gangs: dict[str, Gang] = {}
        self.lives: Counter[str] = Counter()  # how many pods had a name, one after the other
        self.bound: Counter[str] = Counter()  # how many of those were bound
        self.wrong: list[str] = []
        self.longest_partial_s = 0.0

    def hear(self, pod: Json) -> None:
        """A pod was made or has changed."""
        uid, name, node = pod["metadata"]["uid"], pod["metadata"]["name"], node_of(pod)
        if uid not in self._node_of:
            self.lives[name] += 1
        before = self._node_of.get(uid, "")
        self._node_of[uid] = node
        if before and node != before:
            self.wrong.append(f"{name} was on {before}, and is on {node or 'no node'} now")
        self._charge(pod)
        if node and not before:
            self.bound[name] += 1
            self._look_at_node(node, name)
        if gang := self._gang_of(pod):
            gang.pods[uid] = pod
            self._look_at_gang(gang)

    def forget(self, pod: Json) -> None:
        """It is gone."""
        uid = pod["metadata"]["uid"]
        self._node_of.pop(uid, None)
        self._take_off(uid)
        if gang := self._gang_of(pod):
            gang.pods.pop(uid, None)
            self._look_at_gang(gang)
            if not gang.pods:
                del self.gangs[pod["metadata"]["annotations"][GANG]]

    def check(self) -> None:
        """Whose time is up."""
        for name, gang in self.gangs.items():
            if gang.partial_since is None:
                continue
            seconds = self._clock() - gang.partial_since
            self.longest_partial_s = max(self.longest_partial_s, seconds)
            if seconds > WHOLE_WITHIN_S:
                told = f"{gang.standing} of {gang.minimum} members for {seconds:.0f} seconds"
                self.wrong.append(f"gang {name} is half bound: {told}")
                gang.started = True  # told once
                gang.partial_since = None

    def pending(self) -> list[str]:
        """Pods of gangs that have no node."""
        waiting = (pod for gang in self.gangs.values() for pod in gang.pods.values() if not node_of(pod))
        return sorted(pod["metadata"]["name"] for pod in waiting if not is_terminating(pod))

    def _charge(self, pod: Json) -> None:
        uid, node = pod["metadata"]["uid"], node_of(pod)
        self._take_off(uid)
        if node and not is_finished(pod):
            self._charged[uid] = node, asked(pod)
            self._used.setdefault(node, Counter()).update(self._charged[uid][1])

    def _take_off(self, uid: str) -> None:
        node, amounts = self._charged.pop(uid, ("", {}))
        if node:
            self._used[node].subtract(amounts)

    def _look_at_node(self, node: str, name: str) -> None:
        if node not in self._has:
            self.wrong.append(f"{name} was bound to {node}, which is not there")
            return
        for resource, has in self._has[node].items():
            if (used := self._used[node][resource]) > has:
                self.wrong.append(f"{name} was bound: {node} has {resource} {has}, and its pods ask for {used}")

    def _gang_of(self, pod: Json) -> Gang | None:
        annotations = pod["metadata"].get("annotations") or {}
        if GANG not in annotations:
            return None
        return self.gangs.setdefault(annotations[GANG], Gang(int(annotations[MINIMUM])))

    def _look_at_gang(self, gang: Gang) -> None:
        standing = gang.standing
        if not standing:
            gang.started, gang.partial_since = False, None
        elif gang.started or standing >= gang.minimum:
            gang.started, gang.partial_since = True, None
        elif gang.partial_since is None:
            gang.partial_since = self._clock()
