"""`make dist`: everything that a release has, in `dist/`: wheel, sdist, image, chart, manifests, SBOM and checksums.

It publishes nothing; CONTRIBUTING.md says how. Without Docker the image is left out, and that is said.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from deploy.chart import CHART, ROOT, helm
from e2e.cluster.image import NAME, build_image
from e2e.cluster.programs import CannotRun, run, say
from e2e.cluster.providers import Provider, choose
from koordpy import __version__
from koordpy.app import install

DIST = ROOT / "dist"
SBOM_TOOL = "cyclonedx-bom==7.5.0"


def main() -> int:
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    _packages()
    say(f"chart: {helm('package', CHART, f'--destination={DIST}').strip()}")
    (DIST / f"koordpy-{__version__}-install.yaml").write_text(install.manifests(), encoding="utf-8")
    _bill_of_materials()
    complete = _image()
    _checksums()
    return 0 if complete else 1


def _packages() -> None:
    """Wheel and sdist, with the time of the commit: the same commit gives the same files."""
    when = run(["git", "-C", ROOT, "log", "-1", "--format=%ct"]).strip()
    build = f"from hatchling.build import *; build_wheel({str(DIST)!r}); build_sdist({str(DIST)!r})"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": when}
    subprocess.run([sys.executable, "-c", build], cwd=ROOT, check=True, env=environment, stdout=subprocess.DEVNULL)


def _bill_of_materials() -> None:
    """What the image has of Python packages, in CycloneDX; what its base has is said by the base."""
    tools = ROOT / ".venv" / "sbom"
    if not (tools / "bin" / "cyclonedx-py").exists():
        venv.create(tools, with_pip=True)
        run([tools / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", SBOM_TOOL])
    target = DIST / f"koordpy-{__version__}.cdx.json"
    options = [
        "--output-reproducible",
        "--of=JSON",
        f"--output-file={target}",
        f"--pyproject={ROOT / 'pyproject.toml'}",
    ]
    run([tools / "bin" / "cyclonedx-py", "requirements", *options, ROOT / "deploy" / "requirements.lock"])


def _image() -> bool:
    try:
        return _saved(choose(builds=True))
    except CannotRun as reason:
        say(f"WITHOUT THE IMAGE, because this machine cannot build it:\n{reason}")
        return False


def _saved(provider: Provider) -> bool:
    docker, bases = provider.docker()
    try:
        build_image(docker, NAME, bases)
        archive = DIST / f"koordpy-{__version__}-image.tar"
        docker("save", f"--output={archive}", NAME)
        archive.chmod(0o644)  # docker writes it for its owner alone
        run(["gzip", "--no-name", "--force", archive])
    finally:
        provider.end()
    return True


def _checksums() -> None:
    files = sorted(path for path in DIST.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{_digest(path)}  {path.name}\n" for path in files]
    (DIST / "SHA256SUMS").write_text("".join(lines))
    for path in files:
        say(f"{path.stat().st_size / 1e6:8.2f} MB  dist/{path.name}")


def _digest(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


if __name__ == "__main__":
    sys.exit(main())
