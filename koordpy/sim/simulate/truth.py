"""What is true: the objects of the API as it stores them, read naively. Nothing here asks what koordpy believes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from koordpy.api.quantity import milli_units, units
from koordpy.sim.embedded.store import Store
from koordpy.sim.simulate.objects import POD_GROUPS, QUEUE
from koordpy.sim.simulate.reading import OURS, RESERVED_START, Gang, Objects, claimed_by, read_gangs

Json = dict[str, Any]
Amounts = dict[str, int]

_COUNTED = ("cpu", "nvidia.com/gpu", "pods")


def node_of(pod: Json) -> str:
    return str(pod["spec"].get("nodeName") or "")


def is_ours(pod: Json) -> bool:
    return bool(pod["spec"].get("schedulerName") == OURS)


def is_finished(pod: Json) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def is_terminating(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def is_pending(pod: Json) -> bool:
    """Ours to place."""
    return is_ours(pod) and not (node_of(pod) or is_finished(pod) or is_terminating(pod))


def is_odd(pod: Json) -> bool:
    """Says nothing sensible, and is promised nothing but that it does no harm."""
    return str(pod["metadata"]["name"]).startswith("odd")


def key_of(pod: Json) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def asked(pod: Json) -> Amounts:
    total = {"pods": 1}
    for container in pod["spec"]["containers"]:
        for resource, text in (container.get("resources", {}).get("requests") or {}).items():
            total[resource] = total.get(resource, 0) + amount(resource, text)
    return total


def amount(resource: str, text: str) -> int:
    return milli_units(text) if resource == "cpu" else units(text)


def allocatable(node: Json) -> Amounts:
    return {key: amount(key, text) for key, text in node["status"]["allocatable"].items() if key in _COUNTED}


def condition(obj: Json, kind: str) -> Json:
    found = (each for each in obj.get("status", {}).get("conditions") or () if each["type"] == kind)
    return next(found, {})


class Truth:
    """The objects of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: tuple[int, Objects, dict[str, Gang]] | None = None  # with the version that it is of

    def all(self, storage: str) -> list[Json]:
        return [stored.obj for stored in self._store.items(storage)]

    def find(self, storage: str, namespace: str, name: str) -> Json | None:
        stored = self._store.get(storage, namespace, name)
        return stored.obj if stored is not None else None

    @property
    def pods(self) -> list[Json]:
        return self.all("pods")

    @property
    def nodes(self) -> list[Json]:
        return self.all("nodes")

    def _objects_of_gangs(self) -> Objects:
        sigs, kai, native = (self.all(storage) for _, storage in POD_GROUPS.values())
        return Objects(sigs, kai, native, self.all("schedulingspecs.arbitrator.incubator.k8s.io"))

    def gangs(self) -> dict[str, Gang]:
        return self._read_once()[1]

    def gang_of(self, pod: Json) -> str | None:
        return claimed_by(pod, self._read_once()[0])

    def _read_once(self) -> tuple[Objects, dict[str, Gang]]:
        if self._read is None or self._read[0] != self._store.rv:
            objects = self._objects_of_gangs()
            self._read = self._store.rv, objects, read_gangs(self.pods, objects)
        return self._read[1:]

    def holder(self, lease: str) -> str:
        found = self.find("leases.coordination.k8s.io", "kube-system", lease)
        return (found or {"spec": {}})["spec"].get("holderIdentity") or ""

    def used(self, node: str, pods: Iterable[Json]) -> Amounts:
        """By those of the pods that are there."""
        total: Amounts = {}
        for pod in pods:
            if node_of(pod) == node and not is_finished(pod):
                for resource, needed in asked(pod).items():
                    total[resource] = total.get(resource, 0) + needed
        return total

    def free(self, without: set[str] = frozenset()) -> dict[str, Amounts]:  # type: ignore[assignment]
        """Of each node that takes pods, with the pods of these UIDs gone."""
        staying = [pod for pod in self.pods if pod["metadata"]["uid"] not in without]
        found = {}
        for node in self.nodes:
            if not node["spec"].get("unschedulable") and not node["spec"].get("taints"):
                name = node["metadata"]["name"]
                used = self.used(name, staying)
                found[name] = {key: has - used.get(key, 0) for key, has in allocatable(node).items()}
        return found

    # --- queues ---

    def queue_path(self, name: str) -> Iterator[Json]:
        """A queue and those above it; a circle ends where it began."""
        seen = set()
        while name and name not in seen:
            seen.add(name)
            found = self.find("queues.scheduling.run.ai", "", name)
            if found is None:
                return
            yield found
            name = found["spec"].get("parentQueue") or ""

    def allocated(self, queue: str) -> int:
        """Thousandths of a CPU that running pods of a queue, or below it, ask for."""
        return sum(asked(pod).get("cpu", 0) for pod in self._pods_of(queue) if node_of(pod))

    def requested(self, queue: str) -> int:
        """The same of those that run and those that wait."""
        return sum(asked(pod).get("cpu", 0) for pod in self._pods_of(queue))

    def _pods_of(self, queue: str) -> Iterator[Json]:
        below = {queue}
        queues = self.all("queues.scheduling.run.ai")
        for _ in queues:
            below |= {each["metadata"]["name"] for each in queues if each["spec"].get("parentQueue") in below}
        ours = (pod for pod in self.pods if is_ours(pod) and not is_finished(pod) and not is_terminating(pod))
        return (pod for pod in ours if queue_of(pod) in below)


def is_anything_reserved(truth: Truth) -> bool:
    """Nodes are kept for a job: others may wait though they fit."""
    said = [*truth.pods, *(gang.object for gang in truth.gangs().values() if gang.object)]
    return any(RESERVED_START in (obj["metadata"].get("annotations") or {}) for obj in said)


def queue_of(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get(QUEUE, ""))


def limit_of(queue: Json) -> int | None:
    limit = ((queue["spec"].get("resources") or {}).get("cpu") or {}).get("limit")
    return None if limit is None or limit < 0 else int(limit)


def fits(asks: list[Amounts], free: dict[str, Amounts]) -> bool:
    """Whether a place for each is found, largest first, each where it fits first. Some are never found."""
    left = {name: dict(has) for name, has in free.items()}
    for ask in sorted(asks, key=lambda each: sorted(each.items()), reverse=True):
        node = next((n for n, has in left.items() if all(has.get(k, 0) >= need for k, need in ask.items())), None)
        if node is None:
            return False
        for key, need in ask.items():
            left[node][key] -= need
    return True
