"""A real Cluster, JobQueue, Scheduler and intakes; the clock is turned by hand and there is no network.

Tests say what the watches say (`node`, `pod`, `gone`, `service`) and let the scheduler come to rest (`settle`). Binds
stay in their lane unless a test gives a client and runs the scheduler: a pod that was placed counts as assumed.
Periodic flushes never happen here, so a pod that is placed was woken by what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from koordpy.api.pod import Pod
from koordpy.api.workload import Service
from koordpy.app.build import build_scheduler
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.kube.http.transport import Response
from koordpy.plan.framework.answers import Plan
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profile import Profile
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement.pods import plan
from koordpy.scheduler.ingest.sinks import Sinks
from koordpy.scheduler.queue.ticket import State, Ticket
from koordpy.scheduler.settings import GangSettings
from tests.builders import node, pod_json, typed, with_identity

SCHEDULER = "koord-scheduler"
UNSCHEDULABLE = State.UNSCHEDULABLE
_MOST_ATTEMPTS = 1000  # a scheduler that does not come to rest is one that wakes jobs by trying them


class HandClock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class OneByOne:
    """Pods that come one at a time: each is all that came together."""

    def __init__(self, sinks: Sinks) -> None:
        self._sinks = sinks

    def upsert(self, pod: Pod) -> None:
        self._sinks.pods.upsert(pod)
        self._sinks.settle_pods()

    def remove(self, key: str, uid: str) -> None:
        self._sinks.pods.remove(key, uid)
        self._sinks.settle_pods()


class Rig:
    """The scheduler without its process. Pods are named within `default`; the UID of pod `a` is `u-a`."""

    def __init__(
        self,
        *profiles: Profile,
        client: object = None,
        clock: Callable[[], float] | None = None,
        gangs: GangSettings | None = None,
    ) -> None:
        self.hand_clock = HandClock()
        clock = clock or self.hand_clock
        given = profiles or (replace(default_profile(SCHEDULER), preempts=False),)
        self.profiles: Mapping[str, Profile] = {profile.scheduler_name: profile for profile in given}
        settings = Settings(profiles=given, bind_width=4, gangs=gangs or GangSettings())
        api = cast("Client", client)  # without one, nothing is sent
        self.built = build_scheduler(settings, api, instance="rig", clock=clock, wall=clock)
        self.cluster, self.queue, self.scheduler = self.built.cluster, self.built.queue, self.built.scheduler
        self.reporter, self.jobs, self.room = self.built.parts.reporter, self.built.parts.jobs, self.built.room
        self.lanes, self.permit, self.binder = self.built.parts.lanes, self.built.parts.permit, self.built.parts.binder
        self.throttle = self.built.throttle
        self.pods = OneByOne(self.built.sinks)
        self.nodes, self.services = self.built.sinks.nodes, self.built.sinks.services

    # --- what the watches say ---

    def node(self, name: str, **given: Any) -> None:
        self.nodes.upsert(node(name, **given))

    def no_node(self, name: str) -> None:
        self.nodes.remove(name, "")

    def pod(self, name: str, *, on: str = "", promised: str = "", claims: bool = False, **given: Any) -> None:
        """A pod appeared or changed; bound `on` a node, `promised` one (nominated), or pending.

        With `claims` it has resource claims, which nothing cures as long as they are not supported.
        """
        obj = pod_json(name, node=on, **given)
        obj["metadata"]["uid"] = uid(name)
        if promised:
            obj["status"] = {"nominatedNodeName": promised}
        if claims:
            obj["spec"]["resourceClaims"] = [{"name": "c"}]
        self.pods.upsert(typed(with_identity(obj), Pod))

    def gone(self, name: str) -> None:
        self.pods.remove(f"default/{name}", uid(name))

    def service(self, name: str, **selector: str) -> None:
        obj = {"metadata": {"name": name, "namespace": "default"}, "spec": {"selector": selector}}
        self.services.upsert(typed(obj, Service))

    def no_service(self, name: str) -> None:
        self.services.remove(f"default/{name}", "")

    # --- progress ---

    def attempt(self) -> Ticket:
        """Try the next job."""
        ticket = self.scheduler.next_ticket()
        assert ticket is not None, "nothing is active"
        self.scheduler.attempts.schedule_one(ticket)
        return ticket

    def settle(self) -> None:
        """Schedule until nothing is active and no back-off is left."""
        for _ in range(_MOST_ATTEMPTS):
            ticket = self.scheduler.next_ticket()
            if ticket is not None:
                self.scheduler.attempts.schedule_one(ticket)
                continue
            wait_s = self.queue.seconds_to_next()
            if wait_s is None:
                return
            self.hand_clock.now += wait_s + 0.001
        raise AssertionError(f"no rest after {_MOST_ATTEMPTS} attempts")

    def hand_over(self) -> None:
        """Leadership was lost and won again."""
        self.scheduler.start_over()

    # --- what became of it ---

    def ticket(self, name: str) -> Ticket | None:
        return self.queue._tickets.get(uid(name))

    def where(self, name: str) -> str | State | None:
        """The pod's node, else the state of its ticket."""
        ticket = self.ticket(name)
        return self.cluster.pods[uid(name)].node or (ticket.state if ticket is not None else None)

    def overslept(self) -> list[str]:
        """Pods that sleep, or have no ticket, although there is a node for them: nothing would ever wake them."""
        found = []
        for pod in self.cluster.pods.values():
            if pod.scheduler not in self.profiles or not pod.schedulable:
                continue
            answer = plan(Job(pod.uid, (pod,)), self.cluster, self.profiles[pod.scheduler])
            ticket = self.ticket(pod.name)
            if isinstance(answer, Plan) and (ticket is None or ticket.state is UNSCHEDULABLE):
                found.append(f"{pod.name} would fit on {answer.placements[0].node}")
        return found


class Answers:
    """A transport that asks a function for the status and body of each answer."""

    def __init__(self, answer: Callable[[str, str], tuple[int, bytes]]) -> None:
        self._answer = answer

    async def send(self, method: str, path: str, body: bytes = b"", **_: object) -> Response:
        return Response(*self._answer(method, path))


def client_of(answer: Callable[[str, str], tuple[int, bytes]]) -> Client:
    """A client whose API server is `answer(method, path)`."""
    return Client(cast("Any", Answers(answer)))


def uid(name: str) -> str:
    return f"u-{name}"
