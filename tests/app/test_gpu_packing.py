"""`examples/gpu-packing.yaml` does what it says: small jobs leave whole nodes whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from koordpy.app.configfile import read_settings
from tests.scheduler.gangs.rig import GangRig, pod_group_sinks, saying
from tests.scheduler.wakeups.rig import Rig

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "gpu-packing.yaml"
SPREADING, PACKING = "koord-scheduler", "gpu-packing"


class Nodes(GangRig):
    """Four nodes of eight GPUs, under the profiles of the example."""

    def __init__(self, profile: str) -> None:
        settings, without_meaning = read_settings(str(EXAMPLE))
        assert without_meaning == []
        Rig.__init__(self, *settings.profiles)
        self.pod_groups = pod_group_sinks(self)
        self._profile = profile
        for number in range(4):
            self.node(f"n{number}", cpu=64, memory="512Gi", nvidia__com_gpu=8)

    def job(self, name: str, gpus: int, **given: Any) -> None:
        """A pod with CPU and memory in proportion to its GPUs."""
        amounts = {"cpu": 6 * gpus, "memory": f"{32 * gpus}Gi", "nvidia__com_gpu": gpus}
        self.member(name, scheduler=self._profile, **amounts | given)

    def used(self) -> Counter[str]:
        """Pods by node."""
        return Counter(pod.node for pod in self.cluster.pods.values() if pod.node)


def test_small_jobs_share_a_node():
    nodes = Nodes(PACKING)
    for number in range(8):
        nodes.job(f"p{number}", 1)
    nodes.settle()
    assert list(nodes.used().values()) == [8]


def test_with_the_usual_profile_they_would_break_up_every_node():
    nodes = Nodes(SPREADING)
    for number in range(8):
        nodes.job(f"p{number}", 1)
    nodes.settle()
    assert list(nodes.used().values()) == [2, 2, 2, 2]


@pytest.mark.parametrize(("profile", "placed"), [(PACKING, 3), (SPREADING, 0)])
def test_a_gang_of_whole_nodes_starts_beside_packed_jobs_and_not_beside_spread_ones(profile, placed):
    nodes = Nodes(profile)
    for number, gpus in enumerate((1, 2, 1, 4)):
        nodes.job(f"p{number}", gpus)
        nodes.settle()
    for number in range(3):
        nodes.job(f"g{number}", 8, says=saying("g", 3))
    nodes.settle()
    assert len(nodes.nodes_of("g")) == placed


def test_a_pod_goes_where_most_gpus_are_in_use_whatever_is_left_of_the_rest():
    nodes = Nodes(PACKING)
    nodes.job("cpus", 1, on="n1", cpu=60, memory="500Gi")
    nodes.job("gpus", 2, on="n3", cpu=1, memory="1Gi")
    nodes.job("p", 1, cpu=1, memory="1Gi")
    nodes.settle()
    assert nodes.used()["n3"] == 2


def test_members_of_a_gang_are_packed_too():
    nodes = Nodes(PACKING)
    nodes.job("p", 4, on="n2")
    for number in range(4):
        nodes.job(f"g{number}", 1, says=saying("g", 4))
    nodes.settle()
    assert set(nodes.nodes_of("g")) == {"n2"}


def test_one_gpu_in_use_outweighs_an_image_that_is_there():
    nodes = Nodes(PACKING)
    nodes.node("n0", cpu=64, memory="512Gi", nvidia__com_gpu=8, images={"example.com/image:1": 2 * 10**9})
    nodes.job("other", 1, on="n3", image="example.com/other:1")
    nodes.job("p", 1)
    nodes.settle()
    assert nodes.used()["n3"] == 2
