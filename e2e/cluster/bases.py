"""Base images for koordpy's own image where no image registry can be reached: Python from Debian's packages.

The one that it runs on has Python and the libraries that it needs: no shell, no package manager. `deploy/Dockerfile`
takes both as build arguments, and elsewhere a slim image of Docker Hub.
"""

from __future__ import annotations

from dataclasses import dataclass

from e2e.cluster.docker import Docker
from e2e.cluster.packages import SUITE, debootstrap
from e2e.cluster.programs import say

RUNTIME = "koordpy.local/python:3.11"
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
    if not docker.has_image(RUNTIME):
        say("making the base image with Python alone, from Debian packages: half a minute")
        # Extracted and not installed: what a package would run when it is installed needs a shell.
        packages = ["python3-minimal", "libpython3.11-stdlib", "libstdc++6", "tzdata"]
        docker("import", "-", RUNTIME, given=debootstrap(SUITE, packages, variant="extract", script="runtime.sh"))
    return Bases(RUNTIME, BUILDER)
