"""A kubectl of our own version, built as the control plane is, and how a test runs it on an embedded cluster."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from koordpy.sim.embedded.server import EmbeddedServer
from tests.controlplane.build import build


class Kubectl:
    """Runs kubectl with a kubeconfig and a cache of its own."""

    def __init__(self, server: EmbeddedServer, directory: Path) -> None:
        self.server = server
        self._directory = directory
        self._program = str(build(("kubectl",))["kubectl"])
        self._base = ["--kubeconfig", str(directory / "kubeconfig"), "--cache-dir", str(directory / "cache")]
        (directory / "kubeconfig").write_text(server.kubeconfig())

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(self._program, *self._base, *arguments, stdout=pipe, stderr=pipe)

    async def __call__(self, *arguments: str) -> str:
        """The output of a command that must succeed."""
        code, out, err = await self.run(*arguments)
        assert code == 0, f"kubectl {' '.join(arguments)}: {err}"
        return out

    async def refused(self, *arguments: str) -> str:
        """What a command that must fail says."""
        code, out, err = await self.run(*arguments)
        assert code != 0, f"kubectl {' '.join(arguments)} succeeded: {out}"
        return err

    async def run(self, *arguments: str) -> tuple[int | None, str, str]:
        async with asyncio.timeout(30):
            process = await self.start(*arguments)
            out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()

    def file(self, *objects: dict) -> str:
        path = self._directory / "manifest.yaml"
        # JSON, because kubectl takes YAML's bare `n` for false and PyYAML writes it.
        path.write_text("\n".join(json.dumps(one) for one in objects))
        return str(path)

    async def json(self, *arguments: str) -> dict:
        return json.loads(await self(*arguments, "-o", "json"))
