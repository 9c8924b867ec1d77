"""Histories: random sequences of changes by watches and scheduler, and the world that they end in."""

from collections.abc import Callable
from random import Random
from typing import Any

from koordpy.api.meta import LabelSelector
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from tests.builders import typed
from tests.plan.judgement import judgement, state_of
from tests.plan.naive import World
from tests.plan.random_worlds import (
    NAMESPACES,
    NODE_NAMES,
    OWNER_SELECTORS,
    SERVICE_SELECTORS,
    incoming_pod,
    node,
    pod_on_a_node,
)

Json = dict[str, Any]

_UIDS = [f"p{i}" for i in range(8)]
_NAMESPACE_LABELS = [None, {}, {"team": "a"}, {"team": "b"}]

Step = tuple[str, Any]


def random_step(rng: Random) -> Step:
    uid, name, namespace = rng.choice(_UIDS), rng.choice(NODE_NAMES), rng.choice(NAMESPACES)
    steps: dict[str, Callable[[], Any]] = {
        "upsert_node": lambda: node(rng, name),
        "remove_node": lambda: name,
        "upsert_pod": lambda: (incoming_pod if rng.random() < 0.5 else pod_on_a_node)(rng, uid),
        "remove_pod": lambda: uid,
        "assume": lambda: (uid, name),
        "forget": lambda: uid,
        "namespace": lambda: (namespace, rng.choice(_NAMESPACE_LABELS)),
        "service": lambda: (namespace, rng.choice([None, *SERVICE_SELECTORS])),
        "owner": lambda: rng.choice([None, *OWNER_SELECTORS]),
        "ask": lambda: None,
    }
    kind = rng.choice(["upsert_node", "upsert_pod", "upsert_pod", "assume", *steps])
    return kind, steps[kind]()


class History:
    """Keeps the state as the process does, and beside it a plain model of what should be true."""

    def __init__(self, beginning: World) -> None:
        self.cluster = state_of(beginning)
        around = {"namespaces": beginning.namespaces, "services": beginning.services, "owners": beginning.owners}
        self._world = World(**{name: dict(each) for name, each in around.items()})
        self._pods: dict[str, Json] = {pod["metadata"]["uid"]: pod for pod in beginning.pods}
        self._nodes: dict[str, Json] = {node["metadata"]["name"]: node for node in beginning.nodes}
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
        """About the pod that the test is about; from then on what it asks for is counted."""
        if "incoming" in self.cluster.pods:
            judgement(self.cluster.pods["incoming"], self.cluster)
