"""The programs of a node image: Kubernetes and its friends from the Go module proxy, and two small ones of our own."""

from __future__ import annotations

from pathlib import Path

from e2e.cluster.programs import CannotRun, cache, run
from tests.controlplane.build import build
from tests.controlplane.components import KIND
from tests.controlplane.golang import BuildError, find_go, module_directory

OURS = Path(__file__).parent.parent / "programs"
CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "etcd", "coredns")
ON_THE_NODE = ("kubelet", "kubeadm", "kubectl", "crictl")


def published(*names: str) -> dict[str, Path]:
    """Programs by name, built where they are missing."""
    try:
        return build(names)
    except BuildError as error:
        raise CannotRun(str(error)) from None


def our_own(name: str) -> Path:
    """A program of `e2e/programs`, built anew where its source is newer."""
    source, program = OURS / name / "main.go", cache() / "bin" / name
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(exist_ok=True)
        try:
            go = find_go()
        except BuildError as error:
            raise CannotRun(str(error)) from None
        run(["env", "CGO_ENABLED=0", "GOWORK=off", go, "build", "-ldflags=-s -w", "-o", program, source])
    return program


def kinds_base_files() -> Path:
    """Files that kind's own node image has; they are copied from its module and belong to no other repository."""
    return module_directory(f"sigs.k8s.io/kind@{KIND}") / "images" / "base" / "files"
