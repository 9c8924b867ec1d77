"""The chart: where it is, and rendering it with the helm that the tests use."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.controlplane.build import build

ROOT = Path(__file__).parent.parent
CHART = ROOT / "charts" / "koordpy"
GOLDEN = ROOT / "tests" / "chart" / "golden"
NAMESPACE = "koordpy-system"

# Sets of values whose rendering is kept; each is a file in tests/chart/golden, with `.values.yaml` at its end.
CASES = ("default", "minimal", "everything")


class HelmFailed(Exception):
    """What helm said."""


def helm(*arguments: str | Path) -> str:
    """The output of a command that must succeed."""
    program = build(["helm"])["helm"]
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise HelmFailed(done.stderr)
    return done.stdout


def render(*options: str | Path, namespace: str = NAMESPACE, chart: Path = CHART) -> str:
    """As `helm install koordpy` would create it."""
    return helm("template", "koordpy", chart, f"--namespace={namespace}", *options)


def render_case(case: str, *options: str) -> str:
    return render(f"--values={GOLDEN / f'{case}.values.yaml'}", *options)


def golden(case: str) -> str:
    """Without the definitions, which are long, and looked at where they are written."""
    return render_case(case, "--set=crds.install=false")


def plain(rendered: str) -> str:
    """Without what only Helm understands, for `koordpy install manifests`."""
    marks = ("helm.sh/chart:", "app.kubernetes.io/managed-by:", "# Source:")
    return "\n".join(line for line in rendered.splitlines() if not line.strip().startswith(marks)).lstrip("-\n") + "\n"


def for_install(*options: str, namespace: str = NAMESPACE) -> str:
    """What `koordpy install manifests` has but for the definitions and the namespace."""
    flags: Sequence[str] = ("--skip-tests", "--set=crds.install=false", *options)
    return plain(render(*flags, namespace=namespace))
