"""A node image for kind, made where no image registry can be reached: Debian packages, and programs built from source.

The control plane runs from images of one program each, which are put into the node image as kind's own have them.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

from e2e.cluster import binaries
from e2e.cluster.docker import Docker
from e2e.cluster.packages import SUITE, debootstrap
from e2e.cluster.programs import CannotRun, Failed, run, say
from tests.controlplane.components import COREDNS, ETCD, KIND, KUBERNETES

REGISTRY = "koordpy.local"
PAUSE = f"{REGISTRY}/pause:1"
ETCD_TAG = ETCD.removeprefix("v")
_PACKAGES = """
    systemd systemd-sysv dbus containerd runc conntrack iptables nftables iproute2 ethtool mount kmod pigz e2fsprogs
    ca-certificates curl jq procps socat containernetworking-plugins
"""
_START = '["/usr/local/bin/entrypoint","/sbin/init"]'


def node_image(docker: Docker) -> str:
    """Its name, built first where it is missing."""
    name = f"{REGISTRY}/node:{KUBERNETES}-{_recipe()}"
    if docker.has_image(name):
        return name
    programs = binaries.published("kind", *binaries.CONTROL_PLANE, *binaries.ON_THE_NODE)
    say("making the root file system of a node from Debian packages: one to two minutes")
    base = f"{REGISTRY}/node-base"
    docker("import", f"--change=ENTRYPOINT {_START}", "-", base, given=_root_file_system(programs))
    say("putting the images of the control plane into it")
    images = _control_plane_images(docker, programs)
    _with_images(docker, base, images, name)
    say(f"made {name}")
    return name


def _recipe() -> str:
    """Another recipe, another image."""
    parts = [Path(__file__).with_name("node.sh").read_bytes(), _PACKAGES.encode()]
    parts += [(binaries.OURS / name / "main.go").read_bytes() for name in ("clamp", "pause")]
    return hashlib.sha256(b"".join([*parts, KIND.encode()])).hexdigest()[:8]


def _root_file_system(programs: dict[str, Path]) -> bytes:
    files = {
        "FILES": str(binaries.kinds_base_files()),
        "PROGRAMS": " ".join(str(programs[name]) for name in binaries.ON_THE_NODE),
        "CLAMP": str(binaries.our_own("clamp")),
        "PAUSE": PAUSE,
        "VERSION": KUBERNETES,
    }
    return debootstrap(SUITE, _PACKAGES.split(), variant="minbase", script="node.sh", files=files)


def _control_plane_images(docker: Docker, programs: dict[str, Path]) -> list[str]:
    tags = dict.fromkeys(binaries.CONTROL_PLANE, KUBERNETES) | {"etcd": ETCD_TAG, "coredns": COREDNS}
    images = [_image_of(docker, f"{REGISTRY}/{name}:{tags[name]}", programs[name], name) for name in tags]
    return [*images, _image_of(docker, PAUSE, binaries.our_own("pause"), "pause")]


def _image_of(docker: Docker, image: str, program: Path, name: str) -> str:
    """An image with one static program; kube-proxy calls nft and gets it, with its libraries, from this machine."""
    files = {Path("usr/local/bin") / name: program}
    if name == "kube-proxy":
        files |= {path.relative_to("/"): path for path in _nft()}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for inside, path in files.items():
            entry = tar.gettarinfo(path.resolve(), str(inside))
            entry.mode, entry.uid, entry.gid = 0o755, 0, 0
            with path.open("rb") as content:
                tar.addfile(entry, content)
        for directory in ("tmp", "var", "run"):
            entry = tarfile.TarInfo(directory)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777
            tar.addfile(entry)
    changes = [f'--change=ENTRYPOINT ["/usr/local/bin/{name}"]', "--change=ENV PATH=/usr/local/bin:/usr/sbin"]
    docker("import", *changes, "-", image, given=archive.getvalue())
    return image


def _nft() -> list[Path]:
    nft = shutil.which("nft")
    if nft is None:
        raise CannotRun("nft is missing: apt-get install nftables")
    words = [word for line in run(["ldd", nft]).splitlines() for word in line.split()]
    return [Path(nft), *(Path(word) for word in words if word.startswith("/"))]


def _with_images(docker: Docker, base: str, images: list[str], name: str) -> None:
    """Start the base with containerd alone, import the images, and keep what it is then."""
    container = "koordpy-e2e-node-build"
    _forget(docker, container)
    docker("run", "--detach", f"--name={container}", "--network=none", "--security-opt=seccomp=unconfined",
           "--stop-signal=SIGRTMIN+3", "--entrypoint=sleep", base, "infinity")  # fmt: skip
    try:
        docker("exec", "--detach", container, "containerd")
        _await_containerd(docker, container)
        archive = _saved(docker, images)
        docker("exec", "--interactive", container, "ctr", "--namespace=k8s.io", "images", "import", "--no-unpack", "-",
               given=archive)  # fmt: skip
        docker("exec", container, "sh", "-c", "kill $(pidof containerd); sleep 1; rm -rf /run/containerd /tmp/*")
        changes = [f"ENTRYPOINT {_START}", "ENV container=docker"]
        docker("commit", *(f"--change={change}" for change in changes), container, name, label="writing the node image")
    finally:
        _forget(docker, container)


def _saved(docker: Docker, images: list[str]) -> bytes:
    return subprocess.run(
        [docker.client, "save", *images], env=docker.environment, stdout=subprocess.PIPE, check=True, timeout=300
    ).stdout


def _await_containerd(docker: Docker, container: str) -> None:
    for _ in range(60):
        try:
            docker("exec", container, "ctr", "version")
        except Failed:
            time.sleep(0.5)
        else:
            return
    raise CannotRun("containerd does not start in a container of this machine")


def _forget(docker: Docker, container: str) -> None:
    try:
        docker("rm", "--force", "--volumes", container)
    except Failed:
        return  # it was not there
