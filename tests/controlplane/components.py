"""Which real Kubernetes programs the tests can use, and the Go module each of them is built from.

This is the only place that names a version. It runs nothing: `build.py` does.
"""

from dataclasses import dataclass

KUBERNETES = "v1.36.3"
ETCD = "v3.7.3"
KWOK = "v0.8.0"

# Names the cache directory: another version is built beside the old one, which other checkouts may still use.
VERSIONS = f"etcd-{ETCD}_kubernetes-{KUBERNETES}_kwok-{KWOK}"

# etcd ships its program as a library and a `main` in a module that cannot be required on its own.
ETCD_MAIN = """\
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
"""


@dataclass(frozen=True)
class Component:
    """A program, and what `go build` must be told to make it."""

    name: str
    module: str
    version: str
    package: str  # what is built; "." where `main` below is the program
    first_build: str  # on two cores, with nothing in the Go build cache
    main: str = ""
    stamps: tuple[str, ...] = ()  # -X flags: without them /version says v0.0.0 and clients misjudge the server

    @property
    def staging_version(self) -> str:
        """Kubernetes v1.36.3 publishes its staging modules (client-go and the like) as v0.36.3."""
        return "v0." + self.version.removeprefix("v1.")


def _kubernetes(name: str, first_build: str) -> Component:
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    stamps = {"gitVersion": KUBERNETES, "gitMajor": major, "gitMinor": minor}
    return Component(
        name=name,
        module="k8s.io/kubernetes",
        version=KUBERNETES,
        package=f"k8s.io/kubernetes/cmd/{name}",
        first_build=first_build,
        stamps=tuple(f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamps.items()),
    )


_ALL = (
    Component("etcd", "go.etcd.io/etcd/server/v3", ETCD, ".", "a minute", main=ETCD_MAIN),
    _kubernetes("kube-apiserver", "about 5 minutes"),
    _kubernetes("kube-scheduler", "a minute"),
    _kubernetes("kube-controller-manager", "a minute"),
    _kubernetes("kubectl", "a minute"),
    Component("kwok", "sigs.k8s.io/kwok", KWOK, "sigs.k8s.io/kwok/cmd/kwok", "a minute"),
)
COMPONENTS = {component.name: component for component in _ALL}
DEFAULT = ("etcd", "kube-apiserver", "kube-scheduler")
