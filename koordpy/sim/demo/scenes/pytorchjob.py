"""A PyTorchJob becomes a gang: nobody wrote a PodGroup, a label or a number for it."""

from __future__ import annotations

from koordpy.api.decode import Decoder
from koordpy.api.podgroup.kai import API_VERSION, KaiPodGroup
from koordpy.sim.demo.scenes.stage import Stage
from koordpy.sim.demo.scenes.templates import Obj, template
from koordpy.sim.demo.seen import HOLDS_ROOM, SeenPod, State
from koordpy.sim.demo.words import short

_JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
_POD_GROUPS = f"/apis/{API_VERSION}/namespaces/default/podgroups"
_NAME, _WORKERS = "mnist", 3


async def play(stage: Stage) -> tuple[str, str]:
    stage.open("a PyTorchJob becomes a gang", _NAME)
    stage.say(f"submitting PyTorchJob {_NAME}: a master and {_WORKERS} workers, 1 GPU each, and nothing else")
    await stage.create(_JOBS, _job())
    decode = Decoder("PodGroup", KaiPodGroup)

    async def made() -> KaiPodGroup | None:
        groups = await stage.read_all(_POD_GROUPS, decode)
        return next((each for each in groups if _owner(each) == _NAME), None)

    group = await stage.until("a PodGroup", made)
    stage.tell("grouper", f"PodGroup {short(group.metadata.name)} was made for it: {_parts(group)}")
    pods = await stage.until_pods(_NAME, _WORKERS + 1, *HOLDS_ROOM)
    stage.tell("gang", f"its {len(pods)} pods were bound within {_spread_s(pods):.2f} s")
    await stage.linger()
    await stage.until_pods(_NAME, len(pods), State.FINISHED)
    text = (
        f"A PyTorchJob, and nothing else. The PodGrouper made PodGroup {short(group.metadata.name)} of it:"
        f" {_parts(group)}. Its {len(pods)} pods were bound within {_spread_s(pods):.2f} s."
    )
    return _NAME, text


def _job() -> Obj:
    pods = template(_NAME, gpus=1, run_s=1.5)
    roles = {"Master": 1, "Worker": _WORKERS}
    specs = {role: {"replicas": number, "template": pods} for role, number in roles.items()}
    spec = {"pytorchReplicaSpecs": specs}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": _NAME}, "spec": spec}


def _owner(group: KaiPodGroup) -> str:
    owners = group.metadata.owner_references
    return owners[0].name if owners else ""


def _parts(group: KaiPodGroup) -> str:
    """`4 start together (master 1, worker 3)`, as the PodGroup says."""
    parts = ", ".join(f"{each.name} {each.min_member}" for each in group.spec.sub_groups)
    return f"{group.spec.min_member} start together" + (f" ({parts})" if parts else "")


def _spread_s(pods: list[SeenPod]) -> float:
    times = [pod.since[State.BOUND] for pod in pods if State.BOUND in pod.since]
    return max(max(times, default=0.0) - min(times, default=0.0), 0.01)  # less can hardly be seen from here
