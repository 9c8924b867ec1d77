"""Verbs: koordpy itself, started, stopped, killed, and cut off from its API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from koordpy.api.times import micro_instant_of_seconds
from koordpy.config import LeaderElection
from koordpy.embedded.faults import Fault, Rule
from tests.scenarios.ground import Ground

_CALLS = {
    "bind": ("POST", r"/api/v1/namespaces/[^/]+/pods/{pod}/binding"),
    "condition": ("PATCH", r"/api/v1/namespaces/[^/]+/pods/{pod}/status"),
    "annotate": ("PATCH", r"/api/v1/namespaces/[^/]+/pods/{pod}"),
    "event": ("POST", r"/apis/events.k8s.io/v1/namespaces/[^/]+/events"),
    "read": ("GET", r"/api/v1/namespaces/[^/]+/pods/{pod}"),
}
_ANY = "[^/]+"


class OperatingVerbs(Ground):
    """One scheduler at a time. Faults hit only its calls."""

    def __init__(self, *given: Any, wall: Callable[[], float], **named: Any) -> None:
        super().__init__(*given, **named)
        self._rules: list[Rule] = []
        self._wall = wall
        self._config: dict[str, Any] = {}

    async def start(self, **coscheduling: Any) -> None:
        """Start koordpy; `coscheduling` are fields of CoschedulingArgs, kept over restarts."""
        self._config |= coscheduling
        await self._begin(LeaderElection(enabled=False))
        self.observer.scheduler_started()

    async def stand_by(self) -> None:
        """Restart koordpy with leader election, while somebody else holds the lease."""
        await self.stop()
        await self._somebody_leads()
        await self._begin(LeaderElection(namespace=self.namespace))

    async def _begin(self, election: LeaderElection) -> None:
        self.instance = self.new_instance(self._config, election)
        self.instance.transport.rules = self._rules
        self.instance.transport.bind_faulted = self.observer.excused.add
        await self.instance.start()

    async def _somebody_leads(self) -> None:
        now = micro_instant_of_seconds(self._wall())
        held = {"holderIdentity": "somebody", "leaseDurationSeconds": 3600, "acquireTime": now, "renewTime": now}
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "koord-scheduler"},
            "spec": held,
        }
        await self.api.ask("POST", f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases", lease)

    async def stop(self) -> None:
        if self.instance is not None:
            running, self.instance = self.instance, None
            await running.stop()
            self.observer.scheduler_stopped()

    async def end(self) -> None:
        """Whatever state it is in, nothing of it is left. Faster than a stop that waits for a server without luck."""
        if self.instance is not None:
            running, self.instance = self.instance, None
            await running.kill()
            self.observer.scheduler_stopped()

    async def restart(self, **coscheduling: Any) -> None:
        await self.stop()
        await self.start(**coscheduling)

    @contextlib.asynccontextmanager
    async def crash(self, *, after_binds: int) -> AsyncIterator[None]:
        """What happens in this block lets koordpy send so many binds; then it is killed. `start()` brings it back."""
        running = self.instance
        assert running is not None
        running.transport.die_after_binds = running.transport.binds + after_binds
        yield
        async with asyncio.timeout(self._wait_s):
            await running.transport.died.wait()
        self.observer.scheduler_stopped()
        self.instance = None
        await running.kill()

    async def another_second(self) -> None:
        """What is created from here on is younger than what there is: creation times have whole seconds."""
        await asyncio.sleep(1.0 - self._wall() % 1.0 + 0.01)

    def fails(self, call: str, *, pod: str = _ANY, status: int = 500, times: int | None = 1) -> Rule:
        """The next calls of this kind are answered with an error, and nothing is done. Status 0 cuts the connection."""
        return self._fault(Fault.STATUS if status else Fault.DROP, call, pod, count=times, status=status)

    def loses_answer(self, call: str, *, pod: str = _ANY, status: int = 0, times: int | None = 1) -> Rule:
        """The next calls of this kind are done, and their answer is an error or a cut connection."""
        return self._fault(Fault.ANSWER_LOST, call, pod, count=times, status=status)

    def delays(self, call: str, *, pod: str = _ANY, seconds: float, times: int | None = 1) -> Rule:
        return self._fault(Fault.DELAY, call, pod, count=times, seconds=seconds)

    def cuts_watches(self, of: str, *, times: int) -> Rule:
        """The next watches of a resource that are opened break off at their first event."""
        self._rules.append(Rule(Fault.WATCH_CUT, "GET", f".*/{of}", count=times))
        return self._rules[-1]

    def heals(self) -> None:
        """No more faults."""
        self._rules.clear()

    def writes(self, call: str, *, pod: str = _ANY) -> int:
        """How many writes of a kind the running scheduler has made."""
        assert self.instance is not None
        rule = self._rule(Fault.STATUS, call, pod, count=None)
        return sum(1 for request in self.instance.transport.writes if rule.matches(request))

    def _fault(self, fault: Fault, call: str, pod: str, **given: Any) -> Rule:
        self._rules.append(self._rule(fault, call, pod, **given))
        return self._rules[-1]

    def _rule(self, fault: Fault, call: str, pod: str, **given: Any) -> Rule:
        method, path = _CALLS[call]
        return Rule(fault, method, path.format(pod=pod), **given)
