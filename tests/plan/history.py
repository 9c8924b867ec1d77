"""Histories: random sequences of what the watches and the scheduler do to a picture, and the world they end in."""

from typing import Any

from hypothesis import strategies as st

from koordpy.api.meta import LabelSelector
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.cluster.picture import Cluster
from tests.builders import typed
from tests.plan.constraints import requirement, selector
from tests.plan.naive import World
from tests.plan.random_worlds import NAMESPACE_LABELS, NAMESPACES, NODE_NAMES, incoming_pod, node, pod_on_a_node

Json = dict[str, Any]

_UIDS = [f"p{i}" for i in range(5)]
_SERVICE_SELECTORS = [{"app": "web"}, {"tier": "front", "app": "db"}, {"index": "1"}]
_OWNER_SELECTORS = [selector(app="web"), selector(requirement("tier", "Exists"))]

STEPS = st.lists(
    st.one_of(
        st.sampled_from(NODE_NAMES).flatmap(node).map(lambda body: ("upsert_node", body)),
        st.sampled_from(NODE_NAMES).map(lambda name: ("remove_node", name)),
        st.sampled_from(_UIDS).flatmap(pod_on_a_node).map(lambda body: ("upsert_pod", body)),
        st.sampled_from(_UIDS).flatmap(incoming_pod).map(lambda body: ("upsert_pod", body)),
        st.sampled_from(_UIDS).map(lambda uid: ("remove_pod", uid)),
        st.tuples(st.just("assume"), st.tuples(st.sampled_from(_UIDS), st.sampled_from(NODE_NAMES))),
        st.sampled_from(_UIDS).map(lambda uid: ("forget", uid)),
        st.tuples(st.just("namespace"), st.tuples(st.sampled_from(NAMESPACES), st.none() | NAMESPACE_LABELS)),
        st.tuples(
            st.just("service"), st.tuples(st.sampled_from(NAMESPACES), st.sampled_from([None, *_SERVICE_SELECTORS]))
        ),
        st.tuples(st.just("owner"), st.sampled_from([None, *_OWNER_SELECTORS])),
        st.just(("ask", None)),
    ),
    max_size=25,
)


class History:
    """Keeps a picture as the process does, and beside it, in the simplest way, what should be true."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self._world = World()
        self._pods: dict[str, Json] = {}
        self._nodes: dict[str, Json] = {}
        self._assumed: dict[str, str] = {}

    def world(self) -> World:
        """What is true now; an assumed pod is on its node."""
        pods = [
            pod | {"spec": pod["spec"] | {"nodeName": self._assumed[uid]}} if uid in self._assumed else pod
            for uid, pod in self._pods.items()
        ]
        return World(**vars(self._world) | {"nodes": list(self._nodes.values()), "pods": pods})

    def step(self, kind: str, what: Any) -> None:
        getattr(self, f"_{kind}")(what)

    def _upsert_node(self, body: Json) -> None:
        self._nodes[body["metadata"]["name"]] = body
        self.cluster.upsert_node(typed(body, Node))

    def _remove_node(self, name: str) -> None:
        self._nodes.pop(name, None)
        self.cluster.remove_node(name)

    def _upsert_pod(self, body: Json) -> None:
        uid = body["metadata"]["uid"]
        bound_before = "nodeName" in self._pods.get(uid, {}).get("spec", {})
        if bound_before and "nodeName" not in body["spec"]:
            return  # the API server never takes a binding back
        self._pods[uid] = body
        if "nodeName" in body["spec"]:
            self._assumed.pop(uid, None)  # the watch wins
        self.cluster.upsert_pod(typed(body, Pod))

    def _remove_pod(self, uid: str) -> None:
        self._pods.pop(uid, None)
        self._assumed.pop(uid, None)
        self.cluster.remove_pod(uid)

    def _assume(self, uid_and_node: tuple[str, str]) -> None:
        uid, name = uid_and_node
        if uid in self._pods and "nodeName" not in self._pods[uid]["spec"] and uid not in self._assumed:
            self._assumed[uid] = name
            self.cluster.assume(uid, name)

    def _forget(self, uid: str) -> None:
        self._assumed.pop(uid, None)
        self.cluster.forget(uid)

    def _namespace(self, name_and_labels: tuple[str, dict[str, str] | None]) -> None:
        name, labels = name_and_labels
        self._world.namespaces.pop(name, None)
        if labels is not None:
            self._world.namespaces[name] = labels
        self.cluster.set_namespace(name, labels)

    def _service(self, where_and_selector: tuple[str, dict[str, str] | None]) -> None:
        where, wanted = where_and_selector
        self._world.services[where, "s"] = wanted or {}
        self.cluster.set_service(where, "s", wanted)

    def _owner(self, wanted: Json | None) -> None:
        self._world.owners["ReplicaSet", "default", "owner"] = wanted or {}
        parsed = typed(wanted, LabelSelector) if wanted is not None else None
        self.cluster.set_owner("ReplicaSet", "default", "owner", parsed)

    def _ask(self, _: None) -> None:
        """Handled by the test, which knows whom to ask about."""
