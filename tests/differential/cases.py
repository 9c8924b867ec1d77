"""Cases by number: the same number is the same case, for ever and on every machine.

A scene is a cluster: nodes, and pods on them. Making one costs more than asking about it, so a few pods in a row
come into each scene, one at a time, each of them gone before the next: `seed // PODS_PER_SCENE` is the scene.
"""

from dataclasses import dataclass
from random import Random
from typing import Any

from tests.differential import fates
from tests.differential.features import CONTENDED, ENABLED, RELATED, TABLE, Features, probability
from tests.differential.nodes import node
from tests.differential.pods import bound_pod, incoming_pod, promised_pod
from tests.differential.storage import NODE_NAMES, Storage, storage

Json = dict[str, Any]

PODS_PER_SCENE = 4


@dataclass(frozen=True)
class Scene:
    """A cluster, as it is sent to the API server."""

    number: int
    enabled: Features  # what its pods may use
    features: Features  # what it is about itself
    nodes: list[Json]
    pods: list[Json]
    promised: list[Json]  # pods that wait for a node they were promised
    storage: Storage
    fates: dict[str, list[str]]  # by name of the pod: what happens to it before the first case

    def cases(self) -> list["Case"]:
        return [case_of(self, seed) for seed in range(self.number * PODS_PER_SCENE, (self.number + 1) * PODS_PER_SCENE)]


@dataclass(frozen=True)
class Case:
    """A scene and the pod that comes into it."""

    seed: int
    features: Features
    scene: Scene
    incoming: Json


def scene(number: int, enabled: Features = ENABLED) -> Scene:
    rng = Random(f"scene {number}")
    focus = _focus(rng)
    enabled &= focus if len(enabled) > len(TABLE) / 2 else enabled  # somebody has chosen a focus already
    features = _drawn(rng, enabled, at_least=rng.choice([0, 0.8]))
    if "nominated" in features and "far-promises" not in features:
        enabled, features = enabled - {"namespace-selector"}, features - {"namespace-selector"}
    empty = "no-nodes" in features and rng.random() < 0.1  # there is not much to see in such a cluster
    most = 5 if "preemption" in features else 12
    names = NODE_NAMES[: 0 if empty else rng.randint(3, most)]
    names = rng.sample(names, k=len(names))  # neither their order of creation nor the one of their names may matter
    nodes = [node(name, rng, features) for name in names]
    lost = ["lost"] if "lost-nodes" in features else []
    least = 16 if "preemption" in features else 0
    on = rng.choices([*names, *lost], k=rng.choice([least, 25, *range(least, 26)])) if names else []
    made = storage(f"s{number}", rng, features)
    pods = [
        bound_pod(f"s{number}-p{i}", where, rng, features, claims=_claims_for(i, made, features))
        for i, where in enumerate(on)
    ]
    if "preemption" in features:
        _settle_ports(pods)
    promised = [
        promised_pod(f"s{number}-promised-{i}", names, rng, features)
        for i in range(rng.randint(1, 3) if names and "nominated" in features else 0)
    ]
    return Scene(number, enabled, features, nodes, pods, promised, made, fates.draw(pods, rng, features))


def case_of(scene: Scene, seed: int) -> Case:
    rng = Random(f"pod {seed}")
    # What the cluster has is met more often than by chance; a pod may also ask for what this cluster knows nothing of.
    met = _drawn(rng, scene.features, at_least=0.5)
    own = met | _drawn(rng, scene.enabled, times=0.4)
    own -= {"preemption"}
    if rng.random() < 0.8:  # only where all pods have a start, by which victims are told apart
        own |= scene.features & {"preemption"}
    names = [node["metadata"]["name"] for node in scene.nodes] or ["no-such-node"]
    # Choosing a volume changes the scene, so only the last pod of a scene may.
    kinds = ["bound", "broken"] if seed % PODS_PER_SCENE != PODS_PER_SCENE - 1 else ["bound", "waiting", "waiting"]
    pod = incoming_pod(f"s{scene.number}-incoming-{seed}", names, rng, own, claims=scene.storage.names(*kinds))
    return Case(seed, own, scene, pod)


def _settle_ports(pods: list[Json]) -> None:
    """No two pods of a node keep the same host port: to kube-scheduler it is free as soon as one of them has left."""
    taken: set[tuple[str, int]] = set()
    for pod in pods:
        spec = pod["spec"]
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            wanted = {(spec["nodeName"], port["hostPort"]) for port in container.get("ports", ())}
            if wanted & taken:
                del container["ports"]
            taken |= wanted


def _claims_for(number: int, made: Storage, features: Features) -> list[str]:
    """Those that a bound pod may use; where somebody may have to leave, each is used by one pod only.

    kube-scheduler takes a claim for a single pod for free as soon as one of its users has left.
    """
    claims = made.names("bound")
    return claims[number : number + 1] if "preemption" in features else claims


def _focus(rng: Random) -> Features:
    """A few things are in focus, related ones or any, or everything is."""
    few, related = frozenset(rng.sample(sorted(TABLE), k=6)), rng.choice(RELATED)
    contended = rng.choice([few, related]) | CONTENDED
    return rng.choice([frozenset(TABLE), few, few | {"requests"}, related, related, contended, contended, contended])


def _drawn(rng: Random, enabled: Features, *, at_least: float = 0, times: float = 1) -> Features:
    """Each feature is drawn whether it is enabled or not: switching one on leaves the choice of the others alone."""
    chances = {name: max(at_least, probability(name) * times) for name in TABLE}
    return frozenset(name for name, chance in chances.items() if rng.random() < chance) & enabled
