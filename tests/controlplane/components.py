"""Which real Kubernetes programs the tests can use, and the Go module each of them is built from.

The tests use a control plane and helm; the end-to-end tests make a node image of the rest. This is the only place that
names a version. It runs nothing: `build.py` does.
"""

from dataclasses import dataclass

KUBERNETES = "v1.36.3"
ETCD = "v3.7.3"
KWOK = "v0.8.0"
HELM = "v3.21.2"
KIND = "v0.33.0"
CRI_TOOLS = "v1.36.0"
COREDNS = "v1.14.2"
# Of these only the definitions are used: the chart makes objects of them.
CERT_MANAGER = "github.com/cert-manager/cert-manager@v1.18.2"
TRAINING_OPERATOR = "github.com/kubeflow/training-operator@v1.9.3"
PROMETHEUS_OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0"

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

# CoreDNS with the plugins that the Corefile of kubeadm names, and no others: the whole would take minutes to build.
COREDNS_PLUGINS = (
    "reload", "health", "ready", "prometheus", "errors", "log", "loadbalance", "cache", "kubernetes", "loop", "forward",
)  # fmt: skip
_COREDNS_PACKAGES = tuple("metrics" if name == "prometheus" else name for name in COREDNS_PLUGINS)
COREDNS_MAIN = f"""\
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

{chr(10).join(f'	_ "github.com/coredns/coredns/plugin/{name}"' for name in _COREDNS_PACKAGES)}
)

func init() {{
	dnsserver.Directives = []string{{{", ".join(f'"{name}"' for name in COREDNS_PLUGINS)}}}
}}

func main() {{ coremain.Run() }}
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
    libraries: tuple[str, ...] = ()  # of Kubernetes, taken in our version: what is compiled already is not again

    @property
    def file_name(self) -> str:
        """In the cache directory, whose name has the versions of the control plane but not those of tools."""
        return self.name if self.version in VERSIONS else f"{self.name}-{self.version}"

    @property
    def staging_version(self) -> str:
        """Kubernetes v1.36.3 publishes its staging modules (client-go and the like) as v0.36.3."""
        return "v0." + KUBERNETES.removeprefix("v1.")


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


def _helm_stamps() -> tuple[str, ...]:
    """Its own version, and the one of Kubernetes that it renders for: without them v1.20."""
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    ours = {"internal/version.version": HELM}
    for package in ("pkg/lint/rules", "pkg/chartutil"):
        ours |= {f"{package}.k8sVersionMajor": major, f"{package}.k8sVersionMinor": minor}
    return tuple(f"-X helm.sh/helm/v3/{name}={value}" for name, value in ours.items())


_CLIENT = ("api", "apimachinery", "client-go")
_ALL = (
    Component("etcd", "go.etcd.io/etcd/server/v3", ETCD, ".", "a minute", main=ETCD_MAIN),
    _kubernetes("kube-apiserver", "about 5 minutes"),
    _kubernetes("kube-scheduler", "a minute"),
    _kubernetes("kube-controller-manager", "a minute"),
    _kubernetes("kubectl", "a minute"),
    Component("kwok", "sigs.k8s.io/kwok", KWOK, "sigs.k8s.io/kwok/cmd/kwok", "a minute"),
    _kubernetes("kubelet", "3 minutes"),
    _kubernetes("kubeadm", "a minute"),
    _kubernetes("kubectl", "a minute"),
    _kubernetes("kube-proxy", "a minute"),
    Component(
        "helm",
        "helm.sh/helm/v3",
        HELM,
        "helm.sh/helm/v3/cmd/helm",
        "2 minutes",
        libraries=(*_CLIENT, "apiextensions-apiserver", "apiserver", "cli-runtime", "component-base", "kubectl"),
        stamps=_helm_stamps(),
    ),
    Component("kind", "sigs.k8s.io/kind", KIND, "sigs.k8s.io/kind", "half a minute"),
    Component(
        "crictl", "sigs.k8s.io/cri-tools", CRI_TOOLS, "sigs.k8s.io/cri-tools/cmd/crictl", "a minute", libraries=_CLIENT
    ),
    Component("coredns", "github.com/coredns/coredns", COREDNS, ".", "2 minutes", main=COREDNS_MAIN, libraries=_CLIENT),
)
COMPONENTS = {component.name: component for component in _ALL}
DEFAULT = ("etcd", "kube-apiserver", "kube-scheduler")  # KUBEBUILDER_ASSETS has these; tools are ours
