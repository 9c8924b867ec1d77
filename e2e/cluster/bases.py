"""Base images for koordpy's own image where no image registry can be reached: Python from Debian's packages.

The one that it runs on has Python and the libraries that it needs: no shell, no package manager. `deploy/Dockerfile`
takes both as build arguments, and elsewhere a slim image of Docker Hub.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.docker import Docker
from e2e.cluster.packages import SUITE, debootstrap
from e2e.cluster.programs import say

SCRIPT = "runtime.sh"
PACKAGES = ["python3-minimal", "libpython3.11-stdlib", "libstdc++6", "tzdata"]
BUILDER = "koordpy.local/python-build:3.11"


@dataclass(frozen=True)
class Bases:
    """What `deploy/Dockerfile` is built from."""

    runtime: str
    builder: str


def bases(docker: Docker) -> Bases:
    if not docker.has_image(BUILDER):
        say("making the image that the dependencies are installed in, from Debian packages: half a minute")
        packages = ["python3", "python3-pip"]
        docker("import", "-", BUILDER, given=debootstrap(SUITE, packages, variant="minbase"))
    runtime = f"koordpy.local/python:3.11-{_recipe()}"
    if not docker.has_image(runtime):
        say("making the base image with Python alone, from Debian packages: half a minute")
        # Extracted and not installed: what a package would run when it is installed needs a shell.
        docker("import", "-", runtime, given=debootstrap(SUITE, PACKAGES, variant="extract", script=SCRIPT))
    return Bases(runtime, BUILDER)


def _recipe() -> str:
    """Another recipe, another image."""
    script = Path(__file__).with_name(SCRIPT).read_bytes()
    return hashlib.sha256(script + " ".join(PACKAGES).encode()).hexdigest()[:8]
