"""Reading a cluster once and counting the slots that its nodes offer to pods of one request.

Counted twice, by the scheduler's own filters: on the nodes as if they were empty, and with the pods that there are.
"""

from __future__ import annotations

from dataclasses import dataclass

from koordpy.api.affinity import Toleration
from koordpy.api.decode import Decoder
from koordpy.api.errors import MalformedObject, MalformedValue
from koordpy.api.meta import ObjectMeta
from koordpy.api.node import Node
from koordpy.api.pod import Container, Pod, PodSpec, Resources
from koordpy.api.topology import GROUP, KIND, NAME, VERSION, ClusterNetworkTopology, Layer, chain
from koordpy.app.process import CannotStart
from koordpy.cli.slotremarks import layers_of_labels, remarks_about, without_topology
from koordpy.controllers.topology.domains import Domain, domain_tree
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.client import Client
from koordpy.kube.errors import ApiError, NotFound
from koordpy.kube.http.transport import HttpTransport
from koordpy.kube.watch.listing import listed
from koordpy.kube.watch.reflector import Resource
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement import batch
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.shapes import Shape

_TOPOLOGIES = Resource(
    f"/apis/{GROUP}/{VERSION}/clusternetworktopologies",
    Decoder(KIND, ClusterNetworkTopology),
    field_selector=f"metadata.name={NAME}",
)
_NODES = Resource("/api/v1/nodes", Decoder("Node", Node))
_UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
_PODS = Resource("/api/v1/pods", Decoder("Pod", Pod), field_selector=_UNFINISHED)


@dataclass(frozen=True)
class Asked:
    """What one pod asks for, and which taints it tolerates."""

    request: dict[str, str]
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True)
class Survey:
    """What was found; arrays are over node rows, `[N]`."""

    cluster: Cluster
    tree: Domain
    on_empty: Ints  # slots, were there no pods
    free: Ints  # slots
    remarks: tuple[str, ...]


async def survey_of(asked: Asked, kubeconfig: str | None, context: str | None) -> Survey:
    """Read the cluster; raises BadCredentials or CannotStart with one line for the user."""
    credentials = await load_credentials(kubeconfig, context)
    async with HttpTransport(credentials, connections=1) as transport:
        try:
            return await _read(Client(transport), asked)
        except ApiError as error:
            raise CannotStart(f"the API server cannot be used: {error}") from error


async def _read(client: Client, asked: Asked) -> Survey:
    cluster = Cluster()
    skipped: list[MalformedObject] = []
    layers = await _layers(client, skipped)
    async for node in listed(client, _NODES, skipped):
        try:
            cluster.upsert_node(node)
        except MalformedValue as error:
            skipped.append(MalformedObject("Node", node.metadata.name, str(error)))
    cluster.topology.set_layers(layers or layers_of_labels(cluster.nodes))
    shape = _shape(cluster, asked)
    on_empty = _slots(cluster, shape)
    async for pod in listed(client, _PODS, skipped):
        cluster.upsert_pod(pod)
    tree = domain_tree(cluster.topology, cluster.nodes)
    assert tree is not None, "the layers have been set"
    remarks = (
        *(() if layers else without_topology(cluster.topology.layers)),
        *remarks_about(cluster, asked.request, shape, on_empty),
        *(f"left out: {error}" for error in skipped),
    )
    return Survey(cluster, tree, on_empty, _slots(cluster, shape), remarks)


async def _layers(client: Client, skipped: list[MalformedObject]) -> tuple[Layer, ...]:
    """Those of the topology object; none without one."""
    unread = len(skipped)
    try:
        found = [topology async for topology in listed(client, _TOPOLOGIES, skipped)]
    except NotFound:  # not even installed
        return ()
    if len(skipped) > unread:
        raise CannotStart(str(skipped[unread]))
    try:
        return chain(found[0].spec) if found else ()
    except MalformedValue as error:
        raise CannotStart(f"{KIND} {NAME}: {error}") from None


def _shape(cluster: Cluster, asked: Asked) -> Shape:
    """Of a pod in namespace `default` that asks for this and says nothing else."""
    container = Container(name="main", resources=Resources(requests=dict(asked.request)))
    spec = PodSpec(containers=(container,), tolerations=asked.tolerations)
    cluster.nodes.fit_resources()
    return cluster.shapes.shape_of(Pod(ObjectMeta("any", namespace="default"), spec))


def _slots(cluster: Cluster, shape: Shape) -> Ints:
    offered = batch.slots(shape, cluster, default_profile("koord-scheduler"))
    assert offered is not None, "only pods with constraints of their own have to be placed one by one"
    return offered
