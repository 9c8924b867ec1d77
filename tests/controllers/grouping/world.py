"""An API server with the controllers on it, where operators are played by the test: owners and pods as they make them.

The same stories run on the embedded API in virtual time and on a real kube-apiserver.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

from koordpy.app.controllers import Controllers
from koordpy.app.crds import definitions
from koordpy.app.settings import LeaderElection, Settings
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.client import Client
from koordpy.kube.http.transport import HttpTransport, Transport
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.embedded.transport import DirectTransport
from tests.builders import pod_json
from tests.controllers.grouping.recording import Recording
from tests.controlplane.fixtures import corner
from tests.controlplane.server import ControlPlane
from tests.scenarios.api import MERGE, Api, Refused

Json = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS = "/apis/scheduling.run.ai/v2alpha2"
# Kinds that operators define, and where kube-apiserver serves the others.
CUSTOM = {
    "PyTorchJob": ("kubeflow.org/v1", "pytorchjobs"),
    "TFJob": ("kubeflow.org/v1", "tfjobs"),
    "XGBoostJob": ("kubeflow.org/v1", "xgboostjobs"),
    "JAXJob": ("kubeflow.org/v1", "jaxjobs"),
    "Notebook": ("kubeflow.org/v1", "notebooks"),
    "MPIJob": ("kubeflow.org/v2beta1", "mpijobs"),
    "RayService": ("ray.io/v1", "rayservices"),
    "Revision": ("serving.knative.dev/v1", "revisions"),
    "Configuration": ("serving.knative.dev/v1", "configurations"),
    "Service": ("serving.knative.dev/v1", "services"),
    "RayCluster": ("ray.io/v1", "rayclusters"),
    "RayJob": ("ray.io/v1", "rayjobs"),
    "JobSet": ("jobset.x-k8s.io/v1alpha2", "jobsets"),
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "TrainJob": ("trainer.kubeflow.org/v1alpha1", "trainjobs"),
    "Workflow": ("argoproj.io/v1alpha1", "workflows"),
    "Simulation": ("example.com/v1", "simulations"),
    "SchedulingSpec": ("arbitrator.incubator.k8s.io/v1alpha1", "schedulingspecs"),
    "QueueJob": ("arbitrator.incubator.k8s.io/v1alpha1", "queuejobs"),
}
# Versions that definitions serve beside those. The MPIJob of v1 is the training operator's, that of v2beta1 the MPI
# operator's.
BESIDE = {"MPIJob": ("v1",)}
BUILT_IN = {
    "Job": ("batch/v1", "jobs"),
    "CronJob": ("batch/v1", "cronjobs"),
    "Deployment": ("apps/v1", "deployments"),
    "ReplicaSet": ("apps/v1", "replicasets"),
    "StatefulSet": ("apps/v1", "statefulsets"),
    "DaemonSet": ("apps/v1", "daemonsets"),
    "Pod": ("v1", "pods"),
}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
SPECS: dict[str, Json] = {
    "Job": {"template": TEMPLATE | {"spec": TEMPLATE["spec"] | {"restartPolicy": "Never"}}, "suspend": True},
    "Deployment": {"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE},
    "ReplicaSet": {"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE},
    "DaemonSet": {"selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE},
    "StatefulSet": {"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE, "serviceName": "s"},
}


class World:
    """`namespace` is the test's own. Requests of the grouper are in `requests`, as method and path."""

    def __init__(self, ours: Transport, theirs: Transport, namespace: str, *, wait_s: float) -> None:
        self.api, self.namespace, self._wait_s = Api(ours), namespace, wait_s
        self.recording = Recording(theirs)

    # --- the grouper ---

    @contextlib.asynccontextmanager
    async def grouper(self, settings: Settings | None = None) -> AsyncIterator[Controllers]:
        """Running meanwhile; what it dies of fails the test."""
        election = LeaderElection(enabled=False, namespace=self.namespace)
        settings = dataclasses.replace(settings or Settings(), leader_election=election)
        client = Client(self.recording)
        reflectors = SharedReflectors(client)
        controllers = Controllers(client, settings, reflectors, clock=time.time)
        task = asyncio.ensure_future(_together(reflectors.run(), controllers.run()))
        try:
            yield controllers
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.wait([task])

    # --- what users and operators do ---

    async def owner(self, kind: str, name: str, spec: Json | None = None, **given: Any) -> Json:
        """An owner; `owner` is another one, which controls it, and `version` one of `BESIDE`."""
        if kind in CUSTOM:
            await self.define(kind)
        usual, _ = (CUSTOM | BUILT_IN)[kind]
        version = given.pop("version", None)
        api_version = f"{usual.split('/')[0]}/{version}" if version else usual
        body = {"apiVersion": api_version, "kind": kind, "metadata": self._meta(name, **given)}
        body["spec"] = spec if spec is not None else SPECS.get(kind, {})
        return await self.api.ask("POST", self.path(kind).replace(usual, api_version), body)

    async def pod(self, name: str, owner: Json | None = None, **given: Any) -> Json:
        """A pod of ours; `labels` and `annotations` as its operator sets them."""
        meta = {key: given.pop(key) for key in ("labels", "annotations", "references") if key in given}
        body = pod_json(name, namespace=self.namespace, **given)
        body["metadata"] = self._meta(name, owner=owner, **meta)
        return await self.api.ask("POST", self.path("Pod"), body)

    async def change(self, kind: str, name: str, body: Json, sub: str = "") -> Json:
        path = f"{self.path(kind, name)}/{sub}" if sub else self.path(kind, name)
        return await self.api.ask("PATCH", path, body, MERGE)

    async def delete(self, kind: str, name: str) -> None:
        await self.api.ask(
            "DELETE", self.path(kind, name), {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        )

    async def bind(self, name: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        await self.api.ask("POST", f"{self.path('Pod', name)}/binding", body)

    async def define(self, kind: str) -> None:
        api_version, plural = CUSTOM[kind]
        await self.install(_ours(f"{plural}.{api_version.split('/')[0]}") or permissive(api_version, kind, plural))

    async def install(self, definition: Json) -> None:
        spec = definition["spec"]
        with contextlib.suppress(Refused):  # it is there already
            await self.api.ask("POST", DEFINITIONS, definition)
        for version in spec["versions"]:
            served = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
            await self.until(functools.partial(self.api.ask, "GET", served), f"{served} is served")

    async def change_definition(self, versions: list[Json]) -> None:
        """Replace the definition of PodGroups; returns when it counts."""
        path = f"{DEFINITIONS}/podgroups.scheduling.run.ai"
        await self.api.ask("PATCH", path, {"spec": {"versions": versions}}, MERGE)
        nested = "minSubGroup" in str(versions)
        probe = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": "probe"}}

        async def counts() -> bool:
            made = await self.api.ask(
                "POST", f"{self.path('PodGroup')}?dryRun=All", probe | {"spec": {"minSubGroup": 1}}
            )
            return ("minSubGroup" in made["spec"]) == nested

        await self.until(counts, "the other definition counts")

    async def priority_class(self, name: str, value: int = 1) -> None:
        with contextlib.suppress(Refused):
            body = {"metadata": {"name": name}, "value": value}
            await self.api.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)

    # --- what became of it ---

    def path(self, kind: str, name: str = "") -> str:
        api_version, plural = (CUSTOM | BUILT_IN | {"PodGroup": ("scheduling.run.ai/v2alpha2", "podgroups")})[kind]
        root = "/apis" if "/" in api_version else "/api"
        collection = f"{root}/{api_version}/namespaces/{self.namespace}/{plural}"
        return f"{collection}/{name}" if name else collection

    async def pod_groups(self) -> list[Json]:
        return (await self.api.ask("GET", self.path("PodGroup")))["items"]

    async def group_of(self, pod: str) -> Json:
        """The PodGroup that the pod was told, once it was."""

        async def told() -> Json | None:
            found = await self.api.ask("GET", self.path("Pod", pod))
            name = found["metadata"].get("annotations", {}).get("pod-group-name")
            return await self.api.ask("GET", self.path("PodGroup", name)) if name else None

        return await self.until(told, f"{pod} is grouped")

    async def subgroup_of(self, pod: str) -> str:
        await self.group_of(pod)
        found = await self.api.ask("GET", self.path("Pod", pod))
        return found["metadata"].get("labels", {}).get("kai.scheduler/subgroup-name", "")

    async def spec_becomes(self, pod: str, **fields: Any) -> Json:
        """The spec of the pod's PodGroup, once it has these fields."""

        async def told() -> Json | None:
            spec = (await self.group_of(pod))["spec"]
            return spec if fields.items() <= spec.items() else None

        return await self.until(told, f"{fields} of {pod}'s PodGroup")

    async def stays_ungrouped(self, *pods: str) -> None:
        await self.quiet()
        for pod in pods:
            found = await self.api.ask("GET", self.path("Pod", pod))
            assert "pod-group-name" not in found["metadata"].get("annotations", {})

    async def warnings(self, about: str) -> list[str]:
        """Notes of the grouper's warnings about an object, by name, once there are any."""

        async def told() -> list[str]:
            events = await self.api.ask("GET", f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")
            found = [each for each in events["items"] if each["regarding"]["name"] == about]
            return [each["note"] for each in found if each["reason"] == "PodGrouperWarning"]

        return await self.until(told, f"a warning about {about}")

    async def quiet(self) -> None:
        """Long enough for the grouper to do what it will not."""
        await asyncio.sleep(0.4)

    async def until(self, ask: Callable[[], Coroutine[Any, Any, Any]], what: str) -> Any:
        try:
            async with asyncio.timeout(self._wait_s):
                while True:
                    with contextlib.suppress(Refused):
                        if found := await ask():
                            return found
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"in {self._wait_s} s never: {what}") from None

    def _meta(self, name: str, *, owner: Json | None = None, references: list[Json] | None = None, **more: Any) -> Json:
        meta: Json = {"name": name, "namespace": self.namespace} | more
        if owner is not None:
            references = [reference_to(owner)]
        return meta | ({"ownerReferences": references} if references else {})


def reference_to(owner: Json, *, controller: bool = True) -> Json:
    meta = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    return reference | ({"controller": True} if controller else {})


def permissive(api_version: str, kind: str, plural: str) -> Json:
    """A definition that takes any field, as most operators' would take those of these tests."""
    group, version = api_version.split("/")
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    served = [
        {"name": each, "served": True, "storage": each == version, "schema": {"openAPIV3Schema": schema}}
        for each in (version, *BESIDE.get(kind, ()))
    ]
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},  # asked for below k8s.io
        },
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": served},
    }


def _ours(name: str) -> Json | None:
    """The definition that koordpy ships: other tests on the same API server rely on its status subresource."""
    return next((each for each in definitions() if each["metadata"]["name"] == name), None)


def run_ai_definition() -> Json:
    found = _ours("podgroups.scheduling.run.ai")
    assert found is not None
    return found


@contextlib.asynccontextmanager
async def embedded_world() -> AsyncIterator[World]:
    async with EmbeddedCluster(kubelets=False, controllers=False) as cluster:
        transport = DirectTransport(cluster.handle)
        yield World(transport, transport, "default", wait_s=20.0)


@contextlib.asynccontextmanager
async def real_world(control_plane: ControlPlane) -> AsyncIterator[World]:
    async with corner(control_plane) as own:
        with tempfile.TemporaryDirectory() as folder:
            path = str(control_plane.kubeconfig(Path(folder) / "kubeconfig"))
            credentials = await load_credentials(path)
        async with HttpTransport(credentials, 32) as ours, HttpTransport(credentials, 32) as theirs:
            yield World(ours, theirs, own.namespace, wait_s=20.0)


async def _together(*runs: Coroutine[Any, Any, None]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for each in runs:
            tasks.create_task(each)
