"""Pods, gangs and Jobs for the stories: koordpy's own image with a line of Python, which every cluster here has.

Room is counted in slots, an extended resource that the stories give the workers, whatever cores they have.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from e2e.stories.cluster import Cluster, Json, phases, until

SLOT = "koordpy.test/slot"
SLOTS = 4  # of each worker
LABEL = "pod-group.scheduling.sigs.k8s.io"

# A container's first program does not hear SIGTERM by itself: it would have to be killed.
_WAIT = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)); signal.pause()"
# Takes its time to end, as a program does that writes a checkpoint; Kubernetes gives it its grace period.
_SLOW_TO_END = (
    "import signal, sys, time\n"
    "def end(*_):\n    time.sleep({seconds})\n    sys.exit(0)\n"
    "signal.signal(signal.SIGTERM, end)\n"
    "time.sleep(3600)\n"
)


@dataclass(frozen=True)
class Workloads:
    """Makes objects of one namespace."""

    cluster: Cluster
    namespace: str

    def pod(
        self,
        name: str,
        *,
        slots: int = 1,
        resource: str = SLOT,
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
        scheduler: str = "koord-scheduler",
        priority: str = "",
        ends_after_s: int = 0,
        program: str = _WAIT,
        **spec: object,
    ) -> Json:
        """A pod that runs until it is deleted; then it goes at once, or after some seconds."""
        code = _SLOW_TO_END.format(seconds=ends_after_s) if ends_after_s else program
        container: Json = {
            "name": "main",
            "image": self.cluster.image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["python3", "-c", code],
            "resources": {
                "requests": {"cpu": "5m", "memory": "16Mi", resource: str(slots)},
                "limits": {resource: str(slots)},
            },
        }
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name, **(labels or {})}, "annotations": annotations or {}},
            "spec": {
                "schedulerName": scheduler,
                "terminationGracePeriodSeconds": ends_after_s + 30 if ends_after_s else 1,
                "containers": [container],
                **({"priorityClassName": priority} if priority else {}),
                **spec,
            },
        }

    def pod_group(
        self,
        name: str,
        members: int,
        annotations: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
    ) -> Json:
        return {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}},
            "spec": {"minMember": members},
        }

    def gang(
        self, name: str, members: int, *, annotations: dict[str, str] | None = None, queue: str = "", **options: object
    ) -> list[Json]:
        """A PodGroup and its pods."""
        labels = {"kai.scheduler/queue": queue} if queue else None
        pods = [self.pod(f"{name}-{i}", labels={LABEL: name}, **options) for i in range(members)]  # type: ignore[arg-type]
        return [self.pod_group(name, members, annotations, labels), *pods]

    def template(self, pod: Json) -> Json:
        """Of a workload, from a pod; what has ended is not started again."""
        meta = {key: pod["metadata"][key] for key in ("labels", "annotations")}
        return {"metadata": meta, "spec": {**pod["spec"], "restartPolicy": "Never"}}

    def submit(self, *objects: Json) -> None:
        self.cluster.apply(*objects, namespace=self.namespace)

    def members(self, gang: str) -> list[Json]:
        return [pod for pod in self.pods() if pod["metadata"]["name"].rpartition("-")[0] == gang]

    def pods(self) -> list[Json]:
        return self.cluster.list("pods", self.namespace)

    def await_running(self, gang: str, members: int) -> list[Json]:
        """The pods of a gang, as soon as all of them run."""
        until(lambda: phases(self.members(gang)) == ["Running"] * members, f"{members} pods of {gang} run")
        return self.members(gang)

    def await_message(self, pod: str, words: str) -> None:
        """What a pod that waits is told."""

        def told() -> bool:
            conditions = self.cluster.get("pod", pod, self.namespace)["status"].get("conditions", [])
            return any(words in c.get("message", "") for c in conditions if c["type"] == "PodScheduled")

        until(told, f"{pod} is told: {words}")

    def await_phase(self, pod_group: str, phase: str) -> None:
        def has_it() -> bool:
            found = self.cluster.get("podgroups.scheduling.sigs.k8s.io", pod_group, self.namespace)
            return bool(found.get("status", {}).get("phase") == phase)

        until(has_it, f"PodGroup {pod_group} is {phase}")

    @contextmanager
    def watching_binds(self) -> Iterator[Iterator[str]]:
        """The names of pods, each as soon as it has a node."""
        fields = 'jsonpath={.metadata.name} {.spec.nodeName}{"\\n"}'
        words = ["get", "pods", f"--namespace={self.namespace}", "--watch", "--output", fields]
        with self.cluster.kubectl_that_goes_on(*words) as lines:
            yield (words[0] for line in lines if len(words := line.split()) == 2)

    def delete(self, *names: str) -> None:
        self.cluster.kubectl("delete", "pod", *names, f"--namespace={self.namespace}", "--wait=false")


def give_slots(cluster: Cluster, nodes: list[str], slots: int = SLOTS, resource: str = SLOT) -> None:
    """Kubelets keep what others say about extended resources, until they are started again."""
    escaped = resource.replace("/", "~1")
    patch = json.dumps([{"op": "add", "path": f"/status/capacity/{escaped}", "value": str(slots)}])
    for node in nodes:
        cluster.kubectl("patch", "node", node, "--subresource=status", "--type=json", f"--patch={patch}")
    until(
        lambda: all(_allocatable(cluster, node, resource) == str(slots) for node in nodes),
        f"{', '.join(nodes)} have {slots} of {resource} each",
    )


def _allocatable(cluster: Cluster, node: str, resource: str) -> str:
    return str(cluster.get("node", node)["status"]["allocatable"].get(resource, ""))
