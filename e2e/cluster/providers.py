"""Who gives the cluster: the user, kind as it is, or kind with a node image made here. The first that can is taken.

A provider that cannot is named with the reason, so that nobody takes a run that did not happen for one that passed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster import binaries, machine
from e2e.cluster.bases import Bases, bases
from e2e.cluster.docker import Docker, OwnDaemon, machines_own
from e2e.cluster.image import NAME, build_image, size_mb
from e2e.cluster.kind import Kind
from e2e.cluster.nodeimage import node_image
from e2e.cluster.programs import CannotRun, say, succeeds

EXISTING, STOCK, PACKAGES = "existing cluster", "kind", "kind with a node image made from packages"


@dataclass(frozen=True)
class Given:
    """A cluster that is ready for the stories."""

    provider: str
    kubeconfig: Path
    image: str
    kind: Kind | None = None


class Provider:
    """Gives a cluster, and ends what it started."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind: Kind | None = None
        self._daemon: OwnDaemon | None = None

    def give(self) -> Given:
        """Raises CannotRun with the reason."""
        if self.name == EXISTING:
            return _existing()
        docker, made = self.docker()
        self.kind = Kind(docker, node_image(docker) if self.name == PACKAGES else None)
        build_image(docker, NAME, made)
        say(f"the image has {size_mb(docker, NAME):.0f} MB")
        self.kind.up()
        self.kind.load(NAME)
        return Given(self.name, self.kind.kubeconfig, NAME, self.kind)

    def docker(self) -> tuple[Docker, Bases | None]:
        """A daemon, and the base images where Docker Hub cannot be reached."""
        if self.name == STOCK and (docker := machines_own()):
            return docker, None
        self._daemon = OwnDaemon(binaries.our_own("clamp"))
        self._daemon.start()
        return self._daemon.docker, bases(self._daemon.docker)

    def prepare(self) -> None:
        """Build what takes long the first time."""
        if self.name == PACKAGES:
            docker, _ = self.docker()
            node_image(docker)
        binaries.published("helm", "kubectl")

    def attach(self) -> Provider:
        """To what an earlier run has left."""
        if self.name != EXISTING:
            docker, _ = self.docker()
            self.kind = Kind(docker, node_image(docker) if self.name == PACKAGES else None)
        return self

    def end(self) -> None:
        if self.kind and self.kind.exists():
            self.kind.down()
        if self._daemon:
            self._daemon.stop()


def choose(*, builds: bool = False, installs: bool = True) -> Provider:
    """The first that can; raises CannotRun with all reasons. A cluster that is there already builds no images.

    Those after the first are not asked: the last one `installs` packages where it may.
    """
    asked: dict[str, Callable[[], str]] = {} if builds else {EXISTING: _why_not_existing}
    asked |= {STOCK: _why_not_stock, PACKAGES: lambda: machine.why_not(installs=installs)}
    reasons = []
    for name, why_not in asked.items():
        reason = why_not()
        if not reason:
            return Provider(name)
        reasons.append(f"    {name}: {reason}")
    raise CannotRun("\n".join(reasons))


def _why_not_existing() -> str:
    return "" if os.environ.get("KUBECONFIG") else "KUBECONFIG is not set"


def _existing() -> Given:
    image = os.environ.get("IMAGE")
    if not image:
        raise CannotRun("with KUBECONFIG, IMAGE must name koordpy's image, where the nodes can pull it")
    return Given(EXISTING, Path(os.environ["KUBECONFIG"]), image)


def _why_not_stock() -> str:
    docker = machines_own()
    if docker is None:
        return "no Docker daemon answers"
    if not succeeds([docker.client, "pull", "--quiet", "busybox"], env=docker.environment, limit_s=30):
        return "Docker cannot pull images"
    return ""
