"""The reconciler of the default ClusterNetworkTopology: writes its status, and reports a spec that cannot be used.

The status is computed from the topology tree at the moment of the reconcile, so a failed write needs no memory but its
place in the work queue. The reconciler writes nothing but `status` and events.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from koordpy import metrics
from koordpy.api.decode import Decoder
from koordpy.api.meta import ObjectMeta
from koordpy.api.times import instant_of_seconds
from koordpy.api.topology import GROUP, KIND, VERSION
from koordpy.api.topologystatus import TopologyObject, TopologyStatus
from koordpy.controllers.runtime.statuswriter import StatusWriter
from koordpy.controllers.topology.problems import ProblemReporter
from koordpy.controllers.topology.status import problem_in, ready_condition, status_of
from koordpy.controllers.topology.tree import TopologyTree
from koordpy.kube.client import Client
from koordpy.kube.events import EventRecorder

_PATH = f"/apis/{GROUP}/{VERSION}/clusternetworktopologies"
_PAUSE_S = 0.2  # between two reconciles; nodes that join together come within some tenths of a second
# A reconcile of 5,000 nodes costs some hundredths of a second: about twice a second is often enough, and every change
# is still shown within a second.
_PAUSE_PER_NODE_S = 0.00005
_LONGEST_PAUSE_S = 0.6

_decode = Decoder(KIND, TopologyObject)
log = structlog.get_logger()


class TopologyReconciler:
    """Writes through `client`, which refuses to write unless this process leads."""

    def __init__(
        self,
        client: Client,
        tree: TopologyTree,
        events: EventRecorder,
        clock: Callable[[], float],
    ) -> None:
        self._client, self._tree, self._clock = client, tree, clock
        self._writer = StatusWriter(_decode, _path_of, probe="detail_status")
        self._problems = ProblemReporter(events, clock)

    async def reconcile(self, key: str) -> float:  # noqa: ARG002 - there is one topology
        """Write the status if it differs; returns how long to hold the key back."""
        topology = self._tree.object
        if topology is None:
            return _PAUSE_S
        wanted = self._status_of(topology)
        self._problems.notice(topology.metadata, problem_in(wanted), problem_in(topology.status))
        # The event first: the next leader takes a problem that the condition shows for reported. If this one stops
        # between the two, the event is written twice rather than never.
        event_error = await self._problems.send(topology.metadata)
        await self._update_status(topology, wanted)
        if event_error is not None:
            raise event_error
        return min(_PAUSE_S + _PAUSE_PER_NODE_S * self._tree.node_count, _LONGEST_PAUSE_S)

    def _status_of(self, topology: TopologyObject) -> TopologyStatus:
        domains, known = self._tree.domains(), topology.status
        problem = self._describe_problem(has_tree=domains is not None or bool(known.detail_status))
        # Without the subresource our own writes raise the generation: written down, it would be out of date at once,
        # and written again for ever.
        generation = topology.metadata.generation if self._writer.has_subresource else 0
        ready = ready_condition(problem, generation, instant_of_seconds(self._clock()), known)
        return status_of(domains, self._tree.layer_count, ready, known)

    def _describe_problem(self, *, has_tree: bool) -> str:
        """The problem of the spec with its consequence; empty for a valid one."""
        if not self._tree.problem:
            return ""
        outcome = "the last good tree stays in use" if has_tree else "there is no tree"
        return f"{self._tree.problem}; {outcome}"

    async def _update_status(self, topology: TopologyObject, wanted: TopologyStatus) -> None:
        if not self._writer.differs(wanted, topology.status):
            return
        self._tree.record_write(await self._writer.write(self._client, topology.metadata, wanted))
        metrics.writes("topology-status", "ok").inc()
        log.debug("topology_status", layers=wanted.layers, domains=wanted.domains, nodes=wanted.nodes)


def _path_of(meta: ObjectMeta) -> str:
    return f"{_PATH}/{meta.name}"
