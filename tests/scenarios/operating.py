"""Verbs: koordpy itself, started, stopped, killed, and cut off from its API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from koordpy.api.times import micro_instant_of_seconds
from koordpy.app.settings import LeaderElection
from koordpy.kube.leader import Timing
from koordpy.sim.embedded.faults import Fault, Rule
from tests.scenarios.api import MERGE, Refused
from tests.scenarios.ground import Ground

_CALLS = {
    "bind": ("POST", r"/api/v1/namespaces/[^/]+/pods/{pod}/binding"),
    "condition": ("PATCH", r"/api/v1/namespaces/[^/]+/pods/{pod}/status"),
    "annotate": ("PATCH", r"/api/v1/namespaces/[^/]+/pods/{pod}"),
    "event": ("POST", r"/apis/events.k8s.io/v1/namespaces/[^/]+/events"),
    "read": ("GET", r"/api/v1/namespaces/[^/]+/pods/{pod}"),
}
_ANY = "[^/]+"
_RETRY_S = 0.4  # of the lease


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
        await self._begin(LeaderElection(enabled=False, namespace=self.namespace))
        self.observer.scheduler_started()

    async def stand_by(self) -> None:
        """Restart koordpy with leader election, while somebody else holds the lease."""
        await self.stop()
        await self._hold_lease("somebody")
        await self._begin(self._election())

    async def lead(self) -> None:
        """Restart koordpy with leader election, and a lease that is over soon."""
        await self.stop()
        await self._begin(self._election())
        self.observer.scheduler_started()

    async def lose_lease(self) -> None:
        """Somebody else takes the lease, and koordpy notices."""
        await self._hold_lease("somebody")
        await asyncio.sleep(2 * _RETRY_S)

    async def regain_lease(self) -> None:
        await self._hold_lease("")

    async def _begin(self, election: LeaderElection) -> None:
        self.instance = self.new_instance(self._config, election)
        self.instance.transport.rules = self._rules
        self.instance.transport.bind_faulted = self.observer.excused.add
        await self.instance.start()

    def _election(self) -> LeaderElection:
        timing = Timing(lease_duration_s=3.0, renew_deadline_s=2.0, retry_period_s=_RETRY_S)
        return LeaderElection(namespace=self.namespace, timing=timing)

    async def _hold_lease(self, holder: str) -> None:
        now = micro_instant_of_seconds(self._wall())
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 3600, "acquireTime": now, "renewTime": now}
        lease = {"metadata": {"name": "koord-scheduler"}, "spec": spec}
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"
        try:
            await self.api.ask("PATCH", f"{leases}/koord-scheduler", lease, MERGE)
        except Refused:  # there is none yet
            await self.api.ask("POST", leases, lease)

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
    async def outage(self, *, after_binds: int = 0) -> AsyncIterator[None]:
        """No call of koordpy gets through in this block, or none after so many binds, and its watches break."""
        assert self.instance is not None
        self.instance.transport.binds_until_outage = after_binds
        if not after_binds:
            self.instance.transport.cut_watches()
        yield
        self.instance.transport.binds_until_outage = None

    @contextlib.asynccontextmanager
    async def crash(self, *, after_binds: int) -> AsyncIterator[None]:
        """What happens in this block lets koordpy send so many binds; then it is killed. `start()` brings it back."""
        self.doom(after_binds=after_binds)
        yield
        await self.until(lambda: self.is_dead, "the crash")
        await self.bury()

    def doom(self, *, after_binds: int) -> None:
        """Nothing that koordpy sends after so many more binds will arrive."""
        assert self.instance is not None
        self.instance.transport.die_after_binds = self.instance.transport.binds + after_binds

    @property
    def is_dead(self) -> bool:
        return self.instance is not None and self.instance.transport.died.is_set()

    async def bury(self) -> None:
        """Nothing of the process is left."""
        assert self.instance is not None
        running, self.instance = self.instance, None
        self.observer.scheduler_stopped()
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
