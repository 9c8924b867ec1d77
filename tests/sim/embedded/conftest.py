"""`kubectl` on an embedded cluster of one node."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from koordpy.sim.embedded.backend import timestamp
from koordpy.sim.embedded.kubelet import Timing
from koordpy.sim.embedded.nodes import simulated_node
from koordpy.sim.embedded.server import EmbeddedServer
from tests.sim.embedded.kubectl import Kubectl


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    timing = Timing(start=0.05, termination=0.05)
    node = simulated_node("n", now=timestamp(time.time()))
    async with EmbeddedServer([node], timing=timing) as server:
        yield Kubectl(server, tmp_path)
