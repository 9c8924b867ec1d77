"""Which schedulers of others are measured, and the Go module each is built from. The only place that names versions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A program of another project, and where its `main` and its definitions are in its module."""

    name: str
    module: str
    version: str
    package: str
    crds: str  # the directory of its CustomResourceDefinitions
    first_build: str  # on two cores, with nothing in the Go build cache
    beside: tuple[str, ...] = ()  # packages of other programs that it needs
    libraries: tuple[str, str] = ("", "")  # of the k8s.io modules it replaces: this version, by that one

    @property
    def label(self) -> str:
        """What is measured, in full: `coscheduling v0.34.7 (k8s.io libraries v0.34.13)`."""
        other = f" (k8s.io libraries {self.libraries[1]})" if self.libraries[1] else ""
        return f"{self.name} {self.version}{other}"

    @property
    def directory_name(self) -> str:
        """With its version: another version is built beside the old one, which other checkouts may still use."""
        return f"{self.name}_{self.version}"


_ALL = (
    Program(
        "koord-scheduler", "github.com/koordinator-sh/koordinator", "v1.8.0",
        package="./cmd/koord-scheduler", crds="config/crd/bases", first_build="6 minutes",
    ),
    Program(
        "coscheduling", "sigs.k8s.io/scheduler-plugins", "v0.34.7",
        package="./cmd/scheduler", crds="config/crd/bases", first_build="6 minutes",
        # Not all libraries are to be had from the module proxy in the version that it names.
        libraries=("v0.34.7", "v0.34.13"),
    ),
    Program(
        "volcano", "volcano.sh/volcano", "v1.10.0",
        package="./cmd/scheduler", crds="config/crd/volcano/bases", first_build="4 minutes",
    ),
    Program(
        "kai", "github.com/NVIDIA/KAI-scheduler", "v0.12.0",
        package="./cmd/scheduler", crds="deployments/kai-scheduler/crds", first_build="6 minutes",
        beside=("./cmd/binder", "./cmd/podgrouper"),
    ),
)  # fmt: skip
PROGRAMS = {program.name: program for program in _ALL}
