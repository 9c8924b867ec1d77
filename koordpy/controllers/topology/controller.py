"""Keeps the status of the default topology what it should be, and says what is wrong with a spec that cannot be used.

What is written is made from the live tree at that moment, so nothing has to be remembered of what failed but to look
again.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from koordpy.api.decode import Decoder
from koordpy.api.meta import ObjectMeta
from koordpy.api.times import instant_of_seconds
from koordpy.api.topology import GROUP, KIND, NAME, VERSION
from koordpy.api.topologystatus import TopologyObject
from koordpy.controllers.runtime.retries import Setbacks
from koordpy.controllers.runtime.statuswriter import StatusWriter
from koordpy.controllers.runtime.workqueue import Agenda
from koordpy.controllers.topology.status import INVALID_SPEC, ready_condition, status_of, told_problem
from koordpy.controllers.topology.tree import LiveTree
from koordpy.kube.client import Client
from koordpy.kube.errors import ApiError, NotFound
from koordpy.kube.events import EventRecorder, Note
from koordpy.kube.watch.reflector import Resource
from koordpy.kube.writes import ObjectRef

_PATH = f"/apis/{GROUP}/{VERSION}/clusternetworktopologies"
_PAUSE_S = 0.2  # between two looks
_PAUSE_PER_NODE_S = 0.00005  # a look at 5,000 nodes costs some hundredths of a second: twice a second is often enough
_LONGEST_PAUSE_S = 0.6

_decode = Decoder(KIND, TopologyObject)
log = structlog.get_logger()


class TopologyKeeper:
    """A sink of the topology, and who writes its status; `client` writes only while we lead."""

    resource = Resource(_PATH, _decode, field_selector=f"metadata.name={NAME}", optional=True)

    def __init__(
        self, client: Client, tree: LiveTree, agenda: Agenda, events: EventRecorder, wall: Callable[[], float]
    ) -> None:
        self._client, self._tree, self._events, self._wall = client, tree, events, wall
        self._writer = StatusWriter(_decode, _path_of, mark="detail_status")
        self._setbacks = Setbacks("topology", agenda)
        self._said = ""  # of the present spec, in an event
        self._to_say = ""

    @property
    def trouble(self) -> str:
        return self._setbacks.trouble

    def upsert(self, obj: TopologyObject) -> None:
        """The topology appeared or changed."""
        self._tree.put(obj)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - there is only one
        """The topology is gone."""
        self._tree.drop()
        self._said = self._to_say = ""

    async def look(self, key: str) -> float:
        """Write what differs; how long to leave it alone."""
        topology = self._tree.object
        if topology is None:
            self._setbacks.settled(key)
            return _PAUSE_S
        try:
            await self._write_what_differs(topology)
            await self._say(topology.metadata)
        except ApiError as error:
            return self._setbacks.failed(key, error)
        self._setbacks.settled(key)
        return min(_PAUSE_S + _PAUSE_PER_NODE_S * self._tree.nodes, _LONGEST_PAUSE_S)

    async def _write_what_differs(self, topology: TopologyObject) -> None:
        root, known = self._tree.outline(), topology.status
        problem = self._described(has_tree=root is not None or bool(known.detail_status))
        self._note(problem, told_problem(known))
        now = instant_of_seconds(self._wall())
        # Without the subresource our own writes raise the generation: whoever writes that down never comes to rest.
        generation = topology.metadata.generation if self._writer.has_subresource else 0
        ready = ready_condition(problem, generation, now, known)
        wanted = status_of(root, self._tree.depth, ready, known)
        if not self._writer.differ(wanted, known):
            return
        try:
            answer = await self._writer.write(self._client, topology.metadata, wanted)
        except NotFound as error:  # deleted a moment ago; if not, the next look at it says so again
            log.debug("topology_gone", problem=str(error))
            return
        self._tree.answered(answer)
        self._setbacks.wrote()
        log.debug("topology_status", layers=wanted.layers, domains=wanted.domains, nodes=wanted.nodes)

    def _described(self, *, has_tree: bool) -> str:
        """The problem, and what it means."""
        if not self._tree.problem:
            return ""
        outcome = "the last good tree stays in use" if has_tree else "there is no tree"
        return f"{self._tree.problem}; {outcome}"

    def _note(self, problem: str, told: str) -> None:
        """A problem is said once, and not again by the next leader, who finds it in the condition."""
        if problem not in (self._said, told):
            self._to_say = problem
        self._said = problem

    async def _say(self, meta: ObjectMeta) -> None:
        if not self._to_say:
            return
        about = ObjectRef(f"{GROUP}/{VERSION}", KIND, meta.namespace, meta.name, meta.uid)
        log.warning("topology_invalid", problem=self._to_say, hint="mend the spec; the status tells when it is used")
        note = Note(about, "Warning", INVALID_SPEC, "Reading", self._to_say, "koordpy-controllers")
        await self._events.record(note, self._wall())
        self._to_say = ""


def _path_of(meta: ObjectMeta) -> str:
    return f"{_PATH}/{meta.name}"
