"""`koordpy crds`, and what a user does with it: install the definitions, and read about their fields."""

import asyncio
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from koordpy.app import install
from koordpy.app.crds import definitions
from koordpy.sim.embedded.server import EmbeddedServer
from tests.cli.commands import koordpy

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent.parent
KUBECTL = shutil.which("kubectl")
needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not on the PATH: install kubectl to run this")


def test_it_prints_every_definition_as_yaml():
    printed = koordpy("crds")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert list(yaml.safe_load_all(printed.stdout)) == definitions()
    names = [definition["metadata"]["name"] for definition in definitions()]
    assert names == [
        "clusternetworktopologies.scheduling.koordinator.sh",
        "podgroups.scheduling.run.ai",
        "podgroups.scheduling.sigs.k8s.io",
        "podgroups.scheduling.x-k8s.io",
        "queuejobs.arbitrator.incubator.k8s.io",
        "queues.scheduling.run.ai",
        "schedulingspecs.arbitrator.incubator.k8s.io",
    ]


async def kubectl(kubeconfig: Path, *arguments: str, given: str = "") -> str:
    """The output of a command that must succeed."""
    code, out, err = await run_kubectl(kubeconfig, *arguments, given=given)
    assert code == 0, err
    return out


async def run_kubectl(kubeconfig: Path, *arguments: str, given: str = "") -> tuple[int | None, str, str]:
    own = ["--kubeconfig", str(kubeconfig), "--cache-dir", str(kubeconfig.parent / "cache")]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(str(KUBECTL), *own, *arguments, stdin=pipe, stdout=pipe, stderr=pipe)
    async with asyncio.timeout(60):
        out, err = await process.communicate(given.encode())
    return process.returncode, out.decode(), err.decode()


async def install_and_explain(kubeconfig: Path, field: str = "podgroup.spec.minMember") -> str:
    """What a user does first, and what the field says that he asks about."""
    applied = await kubectl(kubeconfig, "apply", "-f", "-", given=koordpy("crds").stdout)
    assert applied.count("customresourcedefinition.apiextensions.k8s.io/") == len(definitions())
    for definition in definitions():
        name = definition["metadata"]["name"]
        await kubectl(kubeconfig, "wait", "--for=condition=Established", f"crd/{name}", "--timeout=20s")
    group = "scheduling.sigs.k8s.io" if field.startswith("podgroup.") else "scheduling.koordinator.sh"
    version = f"--api-version={group}/v1alpha1"
    async with asyncio.timeout(30):
        while True:  # a real server publishes the schema a moment after it serves the resource
            code, out, _ = await run_kubectl(kubeconfig, "explain", version, field)
            if code == 0:
                return " ".join(out.split())
            await asyncio.sleep(0.5)


@needs_kubectl
async def test_kubectl_installs_them_on_the_embedded_api_and_explains_their_fields(tmp_path):
    async with EmbeddedServer() as server:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig())
        explained = await install_and_explain(kubeconfig)
        assert "How many members must be placed before any of them is bound." in explained
        assert "gang.scheduling.koordinator.sh/min-available overrides it" in explained
        assert await kubectl(kubeconfig, "get", "pg", "-A", "-o", "name") == ""  # the short name is known
        assert await kubectl(kubeconfig, "get", "cnt", "-o", "name") == ""


@needs_kubectl
@pytest.mark.real
async def test_kubectl_installs_them_on_a_real_server_and_explains_their_fields(real, tmp_path):
    kubeconfig = real.kubeconfig(tmp_path)
    assert "How many members must be placed" in await install_and_explain(kubeconfig)
    explained = await install_and_explain(kubeconfig, "clusternetworktopology.spec.networkTopologySpec.labelKey")
    assert "of several, the first that a node has counts" in explained


def test_a_wheel_carries_them_and_what_installs_koordpy(tmp_path):
    build = f"from hatchling.build import build_wheel; build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=ROOT, check=True, capture_output=True, timeout=60)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "installed")
    look = "from koordpy.app import crds, install; print(crds.__file__); print(install.manifests(), end='')"
    answer = subprocess.run(
        [sys.executable, "-c", look], cwd=tmp_path / "installed", check=True, capture_output=True, text=True, timeout=60
    )
    where, _, printed = answer.stdout.partition("\n")
    assert where == str(tmp_path / "installed" / "koordpy" / "app" / "crds.py")
    assert printed == install.manifests()
