"""Random nodes: few values for everything, so that pods and nodes meet often."""

from random import Random
from typing import Any

from tests.differential.features import Features

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
TAINTS = [("dedicated", "gpu"), ("dedicated", "batch"), ("spot", ""), ("node.kubernetes.io/disk-pressure", "")]
EFFECTS = ["NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute"]
IMAGES = {
    # name: megabytes; below 23 an image counts for nothing, and from 1000 on for as much as can be
    "example.com/small:1": 10,
    "example.com/medium:1": 180,
    "example.com/large": 640,
    "example.com/huge@sha256:" + "0123456789abcdef" * 4: 2300,
}


def node(name: str, rng: Random, features: Features) -> Json:
    spec: Json = {}
    if "unschedulable" in features and rng.random() < 0.25:
        spec["unschedulable"] = True
    if "taints" in features and rng.random() < 0.5:
        spec["taints"] = _taints(rng)
    amounts = _allocatable(rng, features)
    status: Json = {"allocatable": amounts, "capacity": dict(amounts)}
    if {"images", "image-volumes"} & features:
        status["images"] = _images(rng)
    labels = _labels(name, rng)
    if "bound-claims" in features and rng.random() < 0.7:
        labels[EBS_ZONE] = rng.choice(["a", "b", "c"])
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


def _labels(name: str, rng: Random) -> dict[str, str]:
    labels = {
        HOSTNAME: name,
        ZONE: rng.choice(["a", "b", "c"]),
        "rack": rng.choice(["r1", "r2", "r3", "r4"]),
        "disk": rng.choice(["ssd", "hdd", ""]),
        "generation": rng.choice(["1", "4", "9", "many"]),  # Gt and Lt meet what is no number, too
    }
    for key in list(labels):
        if rng.random() < (0.02 if key == HOSTNAME else 0.1):
            del labels[key]
    return labels


def _taints(rng: Random) -> list[Json]:
    chosen: dict[tuple[str, str], str] = {}  # the API server takes one value for a key and an effect
    for _ in range(rng.choice([1, 1, 2, 3])):
        key, value = rng.choice(TAINTS)
        chosen[key, rng.choice(EFFECTS)] = value
    return [{"key": key, "effect": effect, "value": value} for (key, effect), value in chosen.items()]


def _allocatable(rng: Random, features: Features) -> dict[str, str]:
    amounts = {
        "cpu": rng.choice(["1", "2", "3900m", "4", "16"]),
        "memory": rng.choice(["1Gi", "4Gi", "7901372Ki", "8G", "64Gi"]),
        "pods": rng.choice(["1", "2", "3", "5"]) if "pod-limit" in features else "110",
    }
    if "extended-resources" in features:
        amounts |= {"example.com/gpu": str(rng.choice([0, 1, 2, 8]))} if rng.random() < 0.7 else {}
        amounts |= {"hugepages-2Mi": rng.choice(["0", "64Mi", "1Gi"])} if rng.random() < 0.5 else {}
    if "preemption" in features:
        amounts["cpu"] = rng.choice(["1", "2", "2", "2", "3900m"])
    if "odd-nodes" in features and rng.random() < 0.4:
        odd = rng.choice(["cpu", "memory", "pods"])
        amounts = {name: amount for name, amount in amounts.items() if name != odd}
        amounts |= {odd: "0"} if rng.random() < 0.5 else {}
    if "ephemeral-storage" in features and rng.random() < 0.8:
        amounts["ephemeral-storage"] = rng.choice(["1Gi", "10Gi", "100Gi"])
    return amounts


def _images(rng: Random) -> list[Json]:
    chosen = rng.sample(sorted(IMAGES), k=rng.randint(0, len(IMAGES)))
    return [{"names": _names(image), "sizeBytes": IMAGES[image] * 2**20} for image in chosen]


def _names(image: str) -> list[str]:
    """A kubelet reports the tag even where the pod left it out."""
    repository, _, tag = image.rpartition("/")[2].partition(":")
    return [image] if tag else [f"example.com/{repository}:latest", f"example.com/{repository}@sha256:{'ab' * 32}"]
