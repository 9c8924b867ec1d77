"""Verbs: budgets, nominations, victims, and a scheduler that is stopped in the middle of a preemption."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from koordpy.sim.embedded.faults import Fault, Rule
from koordpy.sim.embedded.request import Request
from tests.plan.constraints import HOSTNAME
from tests.scenarios import api
from tests.scenarios.api import MERGE, STRATEGIC
from tests.scenarios.expecting import ExpectingVerbs
from tests.scenarios.objects import condition
from tests.scenarios.operating import OperatingVerbs
from tests.scenarios.pods import PodVerbs

# What a preemption writes: method, path, and what the body contains.
_WRITES = {
    "tell": ("PATCH", r"/api/v1/namespaces/[^/]+/pods/{pod}/status", b"DisruptionTarget"),
    "rehearse": ("DELETE", r"/api/v1/namespaces/[^/]+/pods/{pod}", b"dryRun"),
    "evict": ("DELETE", r"/api/v1/namespaces/[^/]+/pods/{pod}", b""),
    "announce": ("POST", r"/apis/events.k8s.io/v1/namespaces/[^/]+/events", b'"Preempted"'),
    "nominate": ("PATCH", r"/api/v1/namespaces/[^/]+/pods/{pod}/status", b"nominatedNodeName"),
}
_ANY = "[^/]+"
_A_MOMENT = 0.2  # of the time after which nothing happens any more: victims of one preemption leave at once


@dataclass(slots=True)
class _BodyRule(Rule):
    """A fault for requests whose body contains something."""

    body: bytes = b""

    def matches(self, request: Request) -> bool:
        return self.body in request.body and Rule.matches(self, request)


@dataclass(slots=True)
class _Strike(Rule):
    """Hits one write of a preemption, by its number."""

    number: int = 0  # 1 for the next
    die: Any = None  # called as it hits

    def matches(self, request: Request) -> bool:
        if not any(_is(call, request) for call in _WRITES):
            return False
        self.number -= 1
        if not self.number and self.die is not None:
            self.die()
        return not self.number


# What can become of a write: the fault, the status of the answer, and whether the process dies of it.
MISHAPS = {
    "403": (Fault.STATUS, 403, False),
    "409": (Fault.STATUS, 409, False),
    "429": (Fault.STATUS, 429, False),
    "500": (Fault.STATUS, 500, False),
    "cut off": (Fault.DROP, 0, False),
    "done and not answered": (Fault.ANSWER_LOST, 0, False),
    "crash before": (Fault.DROP, 0, True),
    "crash after": (Fault.ANSWER_LOST, 0, True),
}


class EvictingVerbs(PodVerbs, OperatingVerbs, ExpectingVerbs):
    """A victim stays terminating until `gone`: there are no kubelets."""

    # --- what there is ---

    async def urgent(self, *names: str, priority: int = 1000, **given: Any) -> None:
        """Pods that may preempt."""
        await self.pods(*names, priority=priority, preempts=True, **given)

    async def runs(self, name: str, on: str, *, minute: int | None = None, **given: Any) -> None:
        """A pod of ours on its node, started at that minute of an hour long ago."""
        await self.pods(name, node_selector={HOSTNAME: on}, **given)
        await self.bound(name)
        if minute is not None:
            await self.started_at(name, minute)

    async def budget(self, name: str, allowed: int, **labels: str) -> None:
        """A PodDisruptionBudget whose controller says that so many pods may go."""
        path = f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets"
        spec = {"minAvailable": 0, "selector": {"matchLabels": labels}}
        made = await self.api.ask("POST", path, {"metadata": {"name": name}, "spec": spec})
        status = {"disruptionsAllowed": allowed, "currentHealthy": 9, "desiredHealthy": 9, "expectedPods": 9}
        status |= {"observedGeneration": made["metadata"].get("generation", 1)}
        await self.api.ask("PATCH", f"{path}/{name}/status", {"status": status}, MERGE)
        await self.settled()

    async def started_at(self, name: str, minute: int) -> None:
        """The pod's kubelet says that it began then."""
        status = {"status": {"phase": "Running", "startTime": f"2026-01-01T00:{minute:02}:00Z"}}
        await self.api.ask("PATCH", api.pods(self.namespace, name, "status"), status, STRATEGIC)
        await self.until(lambda: self.pod(name)["status"].get("startTime"), f"{name} has started")

    async def settled(self) -> None:
        """The scheduler's watches have brought what there is."""
        await asyncio.sleep(0.3)

    # --- what a user may expect ---

    async def evicted(self, *names: str, announced: bool = True) -> None:
        """Exactly these were evicted so far, each with its condition and event; a crash may have swallowed that."""
        what = f"evicted: {names}"
        await self.until(lambda: sorted(self.observer.evictions.names) == sorted(names), what)
        for name in names if announced else ():
            await self.event("Preempted", pod=name)
        await self.stays(lambda: sorted(self.observer.evictions.names) == sorted(names), what, share=_A_MOMENT)

    async def evicted_some(self, count: int, *names: str, announced: bool = True) -> list[str]:
        """Exactly so many of these; returns which."""
        await self.until(lambda: len(self.observer.evictions.names) == count, f"{count} of {names} evicted")
        found = sorted(self.observer.evictions.names)
        assert set(found) <= set(names), f"evicted: {found}"
        await self.evicted(*found, announced=announced)
        return found

    def may_evict(self, *names: str) -> None:
        """The scheduler may delete these without preempting."""
        for name in names:
            self._may_go(name)

    async def nobody_evicted(self) -> None:
        await self.stays(
            lambda: not self.observer.evictions.seen, f"nobody evicted, but {self.observer.evictions.names}"
        )

    async def nominated(self, **nodes: str) -> None:
        """`nominated(p="n1")`; `""` for nobody's promise. Names with dashes: `a_1`."""
        wanted = {name.replace("_", "-"): node for name, node in nodes.items()}

        def told() -> bool:
            return all(self.nominated_node(name) == node for name, node in wanted.items())

        await self.until(told, f"nominated: {wanted}, and it is {[(n, self.nominated_node(n)) for n in wanted]}")

    def nominated_node(self, name: str) -> str:
        return self.pod(name)["status"].get("nominatedNodeName", "")

    def victim_says(self, name: str) -> str:
        """The message of a victim's condition."""
        return condition(self.pod(name), "DisruptionTarget").get("message", "")

    async def gone(self, *names: str) -> None:
        """What the kubelets do for victims: they are gone afterwards."""
        await self.unreserve(*names)
        for name in names:
            await self.until(lambda name=name: self.mirror.pod(self.namespace, name) is None, f"{name} is gone")

    async def metric(self, name: str, **labels: str) -> float:
        """What the scheduler's metrics say; counters go on counting over all stories of a test run."""
        _, text = await self.http("/metrics")
        wanted = name + ("{" + ",".join(f'{k}="{v}"' for k, v in labels.items()) + "}" if labels else "")
        found = re.search(rf"^{re.escape(wanted)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    async def take_back(self, name: str) -> None:
        """Somebody else clears a nomination."""
        body = {"status": {"nominatedNodeName": None}}
        await self.api.ask("PATCH", api.pods(self.namespace, name, "status"), body, MERGE)
        await self.nominated(**{name: ""})

    # --- mishaps ---

    def refuses(self, call: str, *, pod: str = _ANY, status: int, times: int | None = 1) -> Rule:
        """The next calls of a preemption are answered with an error, and nothing is done; status 0 cuts them off."""
        return self._breaks(Fault.STATUS if status else Fault.DROP, call, pod, count=times, status=status)

    def forgets_to_answer(self, call: str, *, pod: str = _ANY, times: int | None = 1) -> Rule:
        """The next calls of a preemption are done, and the connection is cut before the answer."""
        return self._breaks(Fault.ANSWER_LOST, call, pod, count=times, status=0)

    def holds_up(self, call: str, *, pod: str = _ANY, seconds: float, times: int | None = 1) -> Rule:
        return self._breaks(Fault.DELAY, call, pod, count=times, seconds=seconds)

    def strike(self, number: int, mishap: str) -> Rule:
        """The mishap happens to the write of that number, from 1, of the preemptions to come."""
        assert self.instance is not None
        fault, status, dies = MISHAPS[mishap]
        die = self.instance.transport.die if dies else None
        self._rules.append(_Strike(fault, status=status, retry_after=3, number=number, die=die))
        return self._rules[-1]

    async def come_back(self) -> None:
        """The crash happens, and koordpy starts again."""
        await self.until(lambda: self.is_dead, "the crash")
        await self.bury()
        self.heals()
        await self.start()

    def preemption_writes(self) -> list[tuple[str, str]]:
        """The writes of preemptions that the running scheduler has made, in order: kind, and pod."""
        assert self.instance is not None
        found = []
        for request in self.instance.transport.writes:
            for call in _WRITES:
                if _is(call, request):
                    found.append((call, _pod_of(request)))
                    break
        return found

    def _breaks(self, fault: Fault, call: str, pod: str, **given: Any) -> Rule:
        method, path, body = _WRITES[call]
        self._rules.append(_BodyRule(fault, method, path.format(pod=pod), body=body, **given))
        return self._rules[-1]


def _is(call: str, request: Request) -> bool:
    method, path, body = _WRITES[call]
    return request.method == method and bool(re.fullmatch(path.format(pod=_ANY), request.path)) and body in request.body


def _pod_of(request: Request) -> str:
    if request.path.endswith("/events"):
        found = re.search(rb'"regarding":\{[^}]*"name":"([^"]+)"', request.body)
        return found[1].decode() if found else ""
    return request.path.removesuffix("/status").rsplit("/", 1)[1]
