"""A random world around the rig: what is true at the API server, watches that lag behind it, binds that go wrong.

The truth is JSON objects in dictionaries, so that nothing of koordpy's own bookkeeping can vouch for itself. A world is
a function of its seed: the same seed does the same things in the same order.
"""

from __future__ import annotations

import copy
import random
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.kube.errors import Conflict, NotFound, Unavailable
from koordpy.plan.framework.profiles import PluginSet, ProfileSpec, build_profile, default_profile
from koordpy.scheduler.queue.ticket import State
from tests.builders import Json, node_json, pod_json, typed
from tests.plan.constraints import affinity, host_port, pod_term, selector, spread_over, taint
from tests.scheduler.wakeups.rig import SCHEDULER, Rig, uid

HOST = "kubernetes.io/hostname"
OTHER = "other"  # a scheduler that does not ask whether its pods fit
_MOST_NODES = 3
_MOST_CPU = 5
_TO_REST = 10_000


class World:
    """Users, kubelets, an API server and its watches, and a scheduler that has to live with them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        lax = PluginSet(disabled=frozenset({"TaintToleration", "NodeUnschedulable"}))
        self.rig = Rig(
            replace(default_profile(SCHEDULER), preempts=False),
            replace(build_profile("lax", ProfileSpec(everywhere=lax)), preempts=False),
            client=self,
        )
        self.nodes: dict[str, Json] = {}
        self.pods: dict[str, Json] = {}  # by UID
        self._pod_watch: deque[Callable[[], None]] = deque()
        self._node_watch: deque[Callable[[], None]] = deque()
        self._number = 0
        self._new_node()
        self._new_node()

    def used(self, node: str, *, ours_only: bool = False) -> int:
        """CPUs of the pods that are bound there."""
        specs = [pod["spec"] for pod in self.pods.values() if pod["spec"].get("nodeName") == node]
        counted = (spec for spec in specs if not ours_only or spec["schedulerName"] != OTHER)
        return sum(int(spec["containers"][0]["resources"]["requests"]["cpu"]) for spec in counted)

    # --- the API server, as the scheduler's client ---

    async def write(self, method: str, path: str, body: Any, **_: object) -> bytes:
        """Binds may be lost on the way there or on the way back; reports are taken."""
        if not path.endswith("/binding"):
            return b"{}"
        fate = self.rng.choice(["ok"] * 5 + ["request lost", "answer lost"])
        pod = self.pods.get(body["metadata"]["uid"])
        if fate == "request lost":
            raise Unavailable("no answer")
        if pod is None:
            raise NotFound("no such pod")
        if pod["spec"].get("nodeName") or pod["metadata"].get("deletionTimestamp"):
            raise Conflict("already bound, or terminating")
        pod["spec"]["nodeName"] = body["target"]["name"]
        self._pod_changed(pod)
        if fate == "answer lost":
            raise Unavailable("no answer")
        return b"{}"

    async def get_patiently(self, path: str) -> bytes:
        pod = self.pods.get(uid(path.rsplit("/", 1)[1]))
        if pod is None:
            raise NotFound("no such pod")
        return msgspec.json.encode(pod)

    # --- what users, kubelets and other schedulers do ---

    def disturb(self) -> None:
        """One thing happens."""
        things = [self._new_pod] * 6 + [self._delete_pod] * 4 + [self._change_node] * 2 + [self._nominate] * 2
        things += [self._resize, self._relabel_pod, self._change_service, self._terminate]
        if len(self.nodes) < _MOST_NODES:
            things += [self._new_node] * 2
        if self.rng.random() < 0.05:
            things += [self._hand_over] * 10
        self.rng.choice(things)()

    def _new_node(self) -> None:
        self._number += 1
        name, rng = f"n{self._number}", self.rng
        self.nodes[name] = node_json(
            name,
            cpu=rng.choice([0, 2, 4]),
            labels={"zone": rng.choice("ab"), "pool": rng.choice("xy")},
            cordoned=rng.random() < 0.2,
            taints=[taint("k")] if rng.random() < 0.3 else None,
        )
        self._node_changed(name)

    def _new_pod(self) -> None:
        self._number += 1
        name, rng = f"p{self._number}", self.rng
        given: dict[str, Any] = {
            "cpu": rng.choice([1, 1, 2, 3]),
            "priority": rng.choice([0, 0, 5]),
        } | self._constraint()
        if rng.random() < 0.15:
            given["node_selector"] = {"pool": rng.choice("xy")}
        if rng.random() < 0.5:
            given["labels"] = {"app": rng.choice("ab")}
        if rng.random() < 0.2:
            given["tolerations"] = [{"key": "k", "operator": "Exists"}]
        if rng.random() < 0.4:
            given["scheduler"] = "lax"
        if rng.random() < 0.1 and self.nodes:
            given |= {"node": rng.choice(list(self.nodes)), "scheduler": OTHER}
        pod = pod_json(name, **given)
        pod["metadata"] |= {"uid": uid(name), "creationTimestamp": "2026-01-01T00:00:00Z"}
        self.pods[uid(name)] = pod
        self._pod_changed(pod)

    def _constraint(self) -> dict[str, Any]:
        if self.rng.random() < 0.5:
            return {}  # pods that are alike are what scouts are about
        key, app = self.rng.choice([HOST, "zone"]), selector(app=self.rng.choice("ab"))
        return self.rng.choice(
            [
                {"affinity": affinity(near=[pod_term(key, app)])},
                {"affinity": affinity(apart=[pod_term(key, app)])},
                {"spread": [spread_over(key, app)]},
                {"host_ports": [host_port(self.rng.choice([80, 81]))]},
            ]
        )

    def _change_node(self) -> None:
        if not self.nodes:
            return
        name = self.rng.choice(list(self.nodes))
        node = self.nodes[name]
        match self.rng.choice(["taint", "cordon", "relabel", "grow", "leave"]):
            case "taint":
                node["spec"]["taints"] = [] if node["spec"].get("taints") else [taint("k")]
            case "cordon":
                node["spec"]["unschedulable"] = not node["spec"].get("unschedulable")
            case "relabel":
                node["metadata"]["labels"][self.rng.choice(["zone", "pool"])] = self.rng.choice("abxy")
            case "grow":
                cpu = int(node["status"]["allocatable"]["cpu"]) + self.rng.choice([1, 2])
                node["status"]["allocatable"]["cpu"] = str(min(cpu, _MOST_CPU))
            case "leave":
                del self.nodes[name]
                self._node_watch.append(lambda: self.rig.no_node(name))
                return
        self._node_changed(name)

    def _delete_pod(self) -> None:
        if pod := self._some_pod():
            name = pod["metadata"]["name"]
            del self.pods[uid(name)]
            self._pod_watch.append(lambda: self.rig.gone(name))

    def _terminate(self) -> None:
        if pod := self._some_pod():
            pod["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
            self._pod_changed(pod)

    def _nominate(self) -> None:
        pod = self._some_pod()
        if pod and not pod["spec"].get("nodeName"):
            pod["status"] = {"nominatedNodeName": self.rng.choice(["", *self.nodes])}
            self._pod_changed(pod)

    def _resize(self) -> None:
        pod = self._some_pod()
        if pod and pod["spec"].get("nodeName"):
            pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1"
            self._pod_changed(pod)

    def _relabel_pod(self) -> None:
        if pod := self._some_pod():
            pod["metadata"].setdefault("labels", {})["app"] = self.rng.choice("ab")
            self._pod_changed(pod)

    def _change_service(self) -> None:
        self.rig.service("s", **{"app": "a", f"k{self.rng.randrange(5)}": "v"})

    def _hand_over(self) -> None:
        while self._pod_watch:  # a new leader has listed before it leads
            self._pod_watch.popleft()()
        self.rig.hand_over()

    def _some_pod(self) -> Json | None:
        return self.rng.choice(list(self.pods.values())) if self.pods else None

    def _pod_changed(self, pod: Json) -> None:
        self._number += 1
        pod["metadata"]["resourceVersion"] = str(self._number)
        seen = typed(copy.deepcopy(pod), Pod)
        self._pod_watch.append(lambda: self.rig.pods.upsert(seen))

    def _node_changed(self, name: str) -> None:
        seen = typed(self.nodes[name], Node)
        self._node_watch.append(lambda: self.rig.nodes.upsert(seen))

    # --- progress ---

    def progress(self) -> None:
        """Some of what is under way goes on, in any order."""
        for _ in range(self.rng.randrange(6)):
            self.rng.choice([self._deliver, self._deliver, self._schedule, self._bind])()
        self.rig.hand_clock.now += self.rng.choice([0, 0.1, 1, 3])

    def come_to_rest(self) -> None:
        """Everything arrives, every bind is answered, every back-off ends."""
        for _ in range(_TO_REST):
            if not (self._deliver() or self._bind() or self._schedule()):
                wait_s = self.rig.queue.seconds_to_next()
                if wait_s is None:
                    return
                self.rig.hand_clock.now += wait_s + 0.001
        raise AssertionError(f"no rest after {_TO_REST} steps")

    def _deliver(self) -> bool:
        """The watches of pods and of nodes are each in order, and know nothing of each other."""
        watches = [watch for watch in (self._pod_watch, self._node_watch) if watch]
        if watches:
            self.rng.choice(watches).popleft()()
        return bool(watches)

    def _bind(self) -> bool:
        """Carry out one call of the lane; the API server above answers at once, so it ends at the first step."""
        calls = self.rig.lanes.binds._calls
        if calls.empty():
            return False
        call: Any = calls.get_nowait()()
        try:
            call.send(None)
        except StopIteration:
            return True
        raise AssertionError("a bind waits for something")

    def _schedule(self) -> bool:
        ticket = self.rig.scheduler.next_ticket()
        if ticket is not None:
            self.rig.scheduler.attempts.schedule_one(ticket)
            assert ticket.state is not State.IN_FLIGHT, f"{ticket.name} was popped and never answered"
        self.rig.lanes.reports.clear()
        return ticket is not None
