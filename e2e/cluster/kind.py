"""A cluster of kind: a control plane and two workers, each a container with a real kubelet.

The API server writes an audit log. Nodes can be killed and started again; nothing of another cluster is touched.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from e2e.cluster import binaries, network, nodeimage
from e2e.cluster.docker import Docker
from e2e.cluster.programs import CannotRun, Failed, cache, run, say
from tests.controlplane.components import COREDNS

NAME = "koordpy-e2e"
CONTROL_PLANE = f"{NAME}-control-plane"
WORKERS = (f"{NAME}-worker", f"{NAME}-worker2")
_POLICY = "/etc/koordpy-e2e/audit.yaml"
_LOG = "/var/log/koordpy-e2e/audit.log"


class Kind:
    """`image` is the node image of `nodeimage.py`, or None for the stock image of kind."""

    def __init__(self, docker: Docker, image: str | None) -> None:
        self.docker = docker
        self.kubeconfig = cache() / "kubeconfig"
        self._image = image
        self._kind = binaries.published("kind")["kind"]  # another version on the PATH has another node image

    def exists(self) -> bool:
        return NAME in self._run("get", "clusters").split()

    def up(self) -> None:
        """With everything Ready; one that is there already is used as it is."""
        if not self.exists():
            say("starting three nodes: half a minute")
            config = cache() / "kind.yaml"
            config.write_text(yaml.safe_dump(_config(self._image)))
            try:
                self._run("create", "cluster", f"--config={config}", f"--kubeconfig={self.kubeconfig}", "--wait=0s")
            except Failed as error:
                raise CannotRun(f"kind cannot make a cluster here: {error}") from None
        self.connect()
        self.kubectl("wait", "--for=condition=Ready", "nodes", "--all", "--timeout=180s")
        self.kubectl("--namespace=kube-system", "rollout", "status", "deployment/coredns", "--timeout=180s")

    def down(self) -> None:
        self._run("delete", "cluster", f"--name={NAME}", f"--kubeconfig={self.kubeconfig}")

    def load(self, image: str) -> None:
        """Give the workers an image, as a registry would."""
        self._run("load", "docker-image", f"--name={NAME}", f"--nodes={','.join(WORKERS)}", image)

    def kill_node(self, node: str) -> None:
        """As if the power had gone."""
        self.docker("kill", node)

    def start_node(self, node: str) -> None:
        self.docker("start", node)
        self.kubectl("wait", "--for=condition=Ready", f"node/{node}", "--timeout=180s")
        self.connect()

    @contextmanager
    def ready_to_kill(self, node: str, pod: str) -> Iterator[Callable[[], object]]:
        """Kills the process of a pod's only container in a few milliseconds: a shell on its node waits for the word.

        To delete a pod takes a hundred times as long, and by then whatever was to be interrupted is over.
        """
        found = ["crictl", "ps", "--quiet", f"--label=io.kubernetes.pod.name={pod}"]
        (container,) = self.docker("exec", node, *found).split()
        asked = ["crictl", "inspect", "--output=go-template", "--template={{.info.pid}}", container]
        process = int(self.docker("exec", node, *asked))
        command = [self.docker.client, "exec", "--interactive", node, "sh"]
        with subprocess.Popen(command, env=self.docker.environment, stdin=subprocess.PIPE, bufsize=0) as shell:
            assert shell.stdin is not None
            yield partial(shell.stdin.write, f"kill -9 {process}\n".encode())
            shell.stdin.close()

    def restart_apiserver(self) -> None:
        """End its container; the kubelet of the control plane starts another."""
        listing = ["exec", CONTROL_PLANE, "crictl", "ps", "--quiet", "--name=kube-apiserver"]
        (container,) = self.docker(*listing).split()
        self.docker("exec", CONTROL_PLANE, "crictl", "stop", container)

    def audit_log(self) -> list[dict[str, Any]]:
        """What koordpy's accounts have asked for so far."""
        text = self.docker("exec", CONTROL_PLANE, "cat", _LOG)
        return [json.loads(line) for line in text.splitlines()]

    def connect(self) -> None:
        if self._image:
            network.connect(self.docker, self.kubectl)

    @property
    def kubectl(self) -> Callable[..., str]:
        program = shutil.which("kubectl") or str(binaries.published("kubectl")["kubectl"])
        return lambda *arguments: run([program, f"--kubeconfig={self.kubeconfig}", *arguments])

    def _run(self, *arguments: str) -> str:
        return run([self._kind, *arguments], env=self.docker.environment, label=f"kind {arguments[0]}")


def _config(image: str | None) -> dict[str, Any]:
    policy = {"hostPath": str(Path(__file__).parent / "audit.yaml"), "containerPath": _POLICY, "readOnly": True}
    nodes: list[dict[str, Any]] = [
        {"role": "control-plane", "extraMounts": [policy]},
        *({"role": "worker"} for _ in WORKERS),
    ]
    config: dict[str, Any] = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "name": NAME,
        "nodes": nodes,
        "kubeadmConfigPatches": [yaml.safe_dump(_kubeadm(image))],
    }
    if image:
        for node in nodes:
            node["image"] = image
        config["networking"] = {"disableDefaultCNI": True, "kubeProxyMode": "nftables", "podSubnet": network.PODS}
        # Machines on which images have to be made this way tend to have cgroup v1.
        kubelet = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", "failCgroupV1": False}
        config["kubeadmConfigPatches"] += [yaml.safe_dump(kubelet)]
    return config


def _kubeadm(image: str | None) -> dict[str, Any]:
    arguments = {"audit-policy-file": _POLICY, "audit-log-path": _LOG}
    directory = str(Path(_LOG).parent)
    volumes: list[dict[str, Any]] = [
        {"name": "audit-policy", "hostPath": _POLICY, "mountPath": _POLICY, "readOnly": True, "pathType": "File"},
        {"name": "audit-log", "hostPath": directory, "mountPath": directory, "pathType": "DirectoryOrCreate"},
    ]
    patch: dict[str, Any] = {
        "kind": "ClusterConfiguration",
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "apiServer": {
            "extraArgs": [{"name": name, "value": value} for name, value in arguments.items()],
            "extraVolumes": volumes,
        },
    }
    if image:
        patch["imageRepository"] = nodeimage.REGISTRY
        patch["etcd"] = {"local": {"imageTag": nodeimage.ETCD_TAG}}
        patch["dns"] = {"imageTag": COREDNS}
    return patch
