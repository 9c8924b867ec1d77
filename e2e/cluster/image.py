"""koordpy's own image, built from `deploy/Dockerfile` by whichever daemon is there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from e2e.cluster.bases import Bases
from e2e.cluster.docker import Docker, client_with_buildkit
from e2e.cluster.programs import run, say, succeeds
from koordpy import __version__

ROOT = Path(__file__).parent.parent.parent
NAME = f"koordpy:{__version__}"


def build_image(docker: Docker, name: str, bases: Bases | None) -> None:
    """`bases` are those of the Dockerfile where they are None."""
    say(f"building {name}")
    command: list[str | Path] = [
        client_with_buildkit(),
        "build",
        "--quiet",
        "--file",
        ROOT / "deploy" / "Dockerfile",
    ]
    command += ["--build-arg", f"VERSION={__version__}", "--build-arg", f"REVISION={_revision()}", "--tag", name]
    if docker.host:
        command += ["--network=host"]  # our own daemon has no other
    if bases:
        command += ["--build-arg", f"BASE={bases.runtime}", "--build-arg", f"BUILDER={bases.builder}"]
    with tempfile.TemporaryDirectory() as directory:
        for secret, path in _secrets(Path(directory)).items():
            command += ["--secret", f"id={secret},src={path}"]
        run([*command, ROOT], env={**docker.environment, "DOCKER_BUILDKIT": "1"}, label=name)


def size_mb(docker: Docker, name: str) -> float:
    return int(docker("image", "inspect", "--format", "{{.Size}}", name)) / 1e6


def _secrets(directory: Path) -> dict[str, Path]:
    """What pip needs to know of this machine: an authority that it trusts, an index of its own."""
    found: dict[str, Path] = {}
    authority = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE")
    if authority and Path(authority).is_file():
        found["ca"] = Path(authority)
    if index := os.environ.get("PIP_INDEX_URL"):
        found["pip"] = directory / "pip.conf"
        found["pip"].write_text(f"[global]\nindex-url = {index}\n")
    return found


def _revision() -> str:
    git = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    return run(git).strip() if succeeds(git) else "unknown"
