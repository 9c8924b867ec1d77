"""Random volumes: claims in every state they can be in, volumes that are reached from some nodes only, old disks.

Classes, drivers and what drivers say of each node are part of the world: nothing tells when kube-scheduler has seen a
change of those. So nodes are called `n0` to `n11` in every scene.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.differential.features import Features
from tests.differential.nodes import HOSTNAME, ZONE

Json = dict[str, Any]

NAMESPACE = "diff-c"  # of all claims
NODE_NAMES = [f"n{i}" for i in range(12)]
DRIVER, MEASURED = "csi.test", "measured.csi.test"
HEIRS = ["ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com", "cinder.csi.openstack.org"]  # of old drivers
MIGRATED = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs,kubernetes.io/cinder"}
CLASSES: dict[str, Json] = {
    "diff-immediate": {"provisioner": DRIVER, "volumeBindingMode": "Immediate"},
    "diff-waiting": {"provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"},
    "diff-zoned": {
        "provisioner": DRIVER,
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}],
    },
    "diff-static": {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"},
    "diff-measured": {"provisioner": MEASURED, "volumeBindingMode": "WaitForFirstConsumer"},
}
WAITING = [name for name, body in CLASSES.items() if body["volumeBindingMode"] == "WaitForFirstConsumer"]
CAPACITIES = {
    "a": {"capacity": "5Gi"},
    "b": {"capacity": "20Gi", "maximumVolumeSize": "1Gi"},
    "c": {"capacity": "0"},
}


def storage_world() -> list[tuple[str, Json]]:
    """Classes, drivers, their limits per node and their room per zone."""
    group = "apis/storage.k8s.io/v1"
    objects = [(f"{group}/storageclasses", _object("StorageClass", name) | body) for name, body in CLASSES.items()]
    for name in (DRIVER, MEASURED):
        spec = {"attachRequired": True, "storageCapacity": name == MEASURED}
        objects.append((f"{group}/csidrivers", _object("CSIDriver", name) | {"spec": spec}))
    for zone, room in CAPACITIES.items():
        body = _object("CSIStorageCapacity", f"room-{zone}", namespace="diff-a")
        body |= {"storageClassName": "diff-measured", "nodeTopology": {"matchLabels": {ZONE: zone}}, **room}
        objects.append((f"{group}/csistoragecapacities", body))
    # Some nodes take one volume, some a few, some do not say; and the last ones have said nothing of any driver.
    for number, name in enumerate(NODE_NAMES[:9]):
        drivers = [_driver_on(name, each, limit=[1, 2, 3, None][number % 4]) for each in (DRIVER, MEASURED, *HEIRS)]
        node = _object("CSINode", name, annotations=MIGRATED if number % 2 else {})
        objects.append((f"{group}/csinodes", node | {"spec": {"drivers": drivers}}))
    return objects


def _driver_on(node: str, driver: str, limit: int | None) -> Json:
    return {"name": driver, "nodeID": node} | ({"allocatable": {"count": limit}} if limit is not None else {})


def _object(kind: str, name: str, **metadata: Any) -> Json:
    return {"apiVersion": "storage.k8s.io/v1", "kind": kind, "metadata": {"name": name, **metadata}}


@dataclass
class Storage:
    """The claims and volumes of a scene, and the phase that some of them are put into."""

    claims: list[Json] = field(default_factory=list)
    volumes: list[Json] = field(default_factory=list)
    phases: dict[str, str] = field(default_factory=dict)  # by name, which is unique over both

    def names(self, *kinds: str) -> list[str]:
        """Names of claims of these kinds."""
        found = [claim["metadata"]["name"] for claim in self.claims]
        return [name for name in found if name.partition("-")[2].partition("-")[0] in kinds]


def storage(scene: str, rng: Random, features: Features) -> Storage:
    made = Storage()
    if "bound-claims" in features:
        for number in range(rng.randint(2, 6)):
            _add_bound(made, f"{scene}-bound-{number}", rng)
    if "broken-claims" in features:
        _add_broken(made, scene, rng)
    if "waiting-claims" in features:
        for number in range(3):
            made.claims.append(_claim(f"{scene}-waiting-{number}", rng, rng.choice(WAITING)))
        for number in range(rng.randint(0, 4)):
            name = f"{scene}-free-{number}"
            made.volumes.append(_volume(name, rng, "diff-static"))
            made.phases[name] = "Available"
    return made


def fence(scene: str) -> list[Json]:
    """A claim and a volume of no use, to be made last: who has seen them has seen what happened to others before."""
    rng = Random(0)
    return [_volume(f"{scene}-fence-volume", rng, "no-such-class"), _claim(f"{scene}-fence", rng, "no-such-class")]


def pod_volumes(rng: Random, claims: list[str], features: Features) -> list[Json]:
    volumes = []
    if claims and rng.random() < 0.7:
        for number, name in enumerate(rng.sample(claims, k=min(len(claims), rng.choice([1, 1, 2])))):
            volumes.append({"name": f"claim-{number}", "persistentVolumeClaim": {"claimName": name}})
    if "broken-claims" in features and rng.random() < 0.1:
        template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
        volumes.append({"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}})
    if "disks" in features and rng.random() < 0.6:
        volumes.append({"name": "disk", **_disk(rng)})
    return volumes


def _add_bound(made: Storage, name: str, rng: Random) -> None:
    modes = [rng.choice(["ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"])]
    volume = _volume(f"{name}-volume", rng, "diff-immediate")
    volume["spec"] |= {"claimRef": {"namespace": NAMESPACE, "name": name}, "accessModes": modes}
    claim = _claim(name, rng, "diff-immediate", volume=volume["metadata"]["name"])
    claim["spec"]["accessModes"] = modes
    made.volumes.append(volume)
    made.claims.append(claim)


def _add_broken(made: Storage, scene: str, rng: Random) -> None:
    """One of each: never to be bound, bound to what is gone, lost."""
    made.claims.append(_claim(f"{scene}-broken-immediate", rng, "diff-immediate"))
    made.claims.append(_claim(f"{scene}-broken-dangling", rng, "diff-immediate", volume="no-such-volume"))
    made.claims.append(_claim(f"{scene}-broken-lost", rng, "diff-immediate", volume="no-such-volume"))
    made.phases[f"{scene}-broken-lost"] = "Lost"


def _claim(name: str, rng: Random, storage_class: str, volume: str = "") -> Json:
    metadata: Json = {"name": name, "namespace": NAMESPACE}
    if volume:
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    size = {"requests": {"storage": rng.choice(["500Mi", "1Gi", "2Gi", "6Gi"])}}
    spec: Json = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class, "resources": size}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": spec | ({"volumeName": volume} if volume else {}),
    }


def _volume(name: str, rng: Random, storage_class: str) -> Json:
    labels = {ZONE: rng.choice(["a", "b", "a__b"])} if rng.random() < 0.3 else {}
    spec: Json = {
        "capacity": {"storage": rng.choice(["1Gi", "2Gi", "4Gi", "8Gi"])},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        **_source(name),
    }
    if rng.random() < 0.5:
        terms = [{"matchExpressions": [_reach(rng)]} for _ in range(rng.choice([1, 1, 2]))]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "labels": labels}, "spec": spec}


def _source(name: str) -> Json:
    """A volume of a CSI driver, or of one of its predecessors."""
    rng = Random(f"source of {name}")
    if rng.random() < 0.6:
        return {"csi": {"driver": DRIVER, "volumeHandle": name}}
    return rng.choice([_ebs(name), _ebs(f"aws://a/vol-{name}"), _azure(name), _cinder(name)])


def _reach(rng: Random) -> Json:
    key, values = rng.choice([(ZONE, ["a", "b", "c"]), ("rack", ["r1", "r2", "r3", "r4"]), (HOSTNAME, NODE_NAMES)])
    return {"key": key, "operator": "In", "values": rng.sample(values, k=2)}


def _disk(rng: Random) -> Json:
    read_only = rng.random() < 0.4
    name = rng.choice(["one", "two"])
    return rng.choice(
        [
            _azure(name),
            _cinder(name),
            {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}},
            _ebs(name, readOnly=read_only),
            {"rbd": {"monitors": [rng.choice(["m1", "m2"]), "m3"], "image": name, "readOnly": read_only}},
            {
                "iscsi": {
                    "targetPortal": "10.0.0.1:3260",
                    "iqn": f"iqn.2026-01.test:{name}",
                    "lun": 0,
                    "readOnly": read_only,
                }
            },
        ]
    )


def _ebs(name: str, **more: Any) -> Json:
    return {"awsElasticBlockStore": {"volumeID": name, **more}}


def _azure(name: str) -> Json:
    return {"azureDisk": {"diskName": name, "diskURI": f"/subscriptions/s/disks/{name}", "kind": "Managed"}}


def _cinder(name: str) -> Json:
    return {"cinder": {"volumeID": name}}
