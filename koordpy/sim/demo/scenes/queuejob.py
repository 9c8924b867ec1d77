"""A QueueJob loses a pod, and is made again as a whole."""

from __future__ import annotations

from koordpy.api.decode import Decoder
from koordpy.api.queuejob import API_VERSION, KIND, QueueJob
from koordpy.sim.demo.scenes.stage import PODS, Stage
from koordpy.sim.demo.scenes.templates import Obj, template
from koordpy.sim.demo.seen import State

_JOBS = f"/apis/{API_VERSION}/namespaces/default/queuejobs"
_NAME, _PODS = "fit", 3
_LOST = f"{_NAME}-worker-1-0"


async def play(stage: Stage) -> tuple[str, str]:
    stage.open("a QueueJob is restarted as a whole", _NAME)
    stage.say(f"submitting QueueJob {_NAME}: a parameter server and 2 workers, which need each other")
    await stage.create(_JOBS, _job())
    await stage.until_pods(_NAME, _PODS, State.RUNNING)
    stage.say(f"deleting one of its pods, {_LOST}")
    await stage.delete(f"{PODS}/{_LOST}")
    decode = Decoder(KIND, QueueJob)

    async def restarted() -> QueueJob | None:
        job = await stage.read(f"{_JOBS}/{_NAME}", decode)
        return job if job is not None and job.status.restarts else None

    job = await stage.until("a restart", restarted)
    why = next((each.message for each in job.status.conditions if each.type == "Restarted"), "")
    stage.tell("queuejob", f"{_NAME} is {job.status.phase}, restart {job.status.restarts}: {why}")

    async def again() -> QueueJob | None:
        job = await stage.read(f"{_JOBS}/{_NAME}", decode)
        return job if job is not None and job.status.phase in ("Running", "Completed", "Failed") else None

    job = await stage.until("all of it again", again)
    stage.tell("queuejob", _counted(job))
    await stage.linger()

    async def ended() -> QueueJob | None:
        job = await stage.read(f"{_JOBS}/{_NAME}", decode)
        return job if job is not None and job.status.ended else None

    job = await stage.until("its end", ended)
    stage.tell("queuejob", _counted(job))
    await stage.linger()
    text = f"A QueueJob of {_PODS} pods, of which one was deleted: “{why}.” So all were made again, together."
    return _NAME, f"{text} In the end {_counted(job)}."


def _counted(job: QueueJob) -> str:
    """`fit is Completed: 0 running, 3 succeeded, 1 restart, incarnation 1`, as its status says."""
    status = job.status
    restarts = f"{status.restarts} restart{'' if status.restarts == 1 else 's'}"
    return (
        f"{_NAME} is {status.phase}: {status.running} running, {status.succeeded} succeeded, {restarts},"
        f" incarnation {status.incarnation}"
    )


def _job() -> Obj:
    pods = template(_NAME, cpu="2", run_s=2.5)
    tasks = [
        {"name": "ps", "replicas": 1, "template": pods},
        {"name": "worker", "replicas": _PODS - 1, "template": pods},
    ]
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": _NAME}, "spec": {"taskSpecs": tasks}}
