"""More stories of QueueJobs, about what is easily forgotten."""

from __future__ import annotations

from typing import Any

from tests.controllers.queuejob.stories import STORIES, story
from tests.controllers.queuejob.world import World, job, task
from tests.scenarios.api import MERGE

# --- pods ---


@story
async def what_a_template_says_about_its_index_stays(world: World):
    body = job("j", task("w", 1))
    spec = body["spec"]["taskSpecs"][0]["template"]["spec"]
    spec["containers"][0]["env"] = [{"name": "KOORDPY_INDEX", "value": "mine"}]
    spec["restartPolicy"] = "OnFailure"
    await world.create(body)
    await world.until_status(pending=1)
    pod = (await world.pods())["j-w-0-0"]["spec"]
    env = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    assert env == {"KOORDPY_INDEX": "mine", "KOORDPY_TASK": None}
    assert pod["restartPolicy"] == "OnFailure"


@story
async def a_pod_whose_labels_were_taken_away_is_still_known(world: World):
    await world.create(job("j", task("w", 2)))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    labels = {"koordpy.io/task": None, "koordpy.io/index": None, "koordpy.io/incarnation": None}
    await world.api.ask("PATCH", world._pods("j-w-0-0"), {"metadata": {"labels": labels}}, MERGE)
    await world.phase("Succeeded", "j-w-0-0")
    await world.until_status(phase="Running", running=1, succeeded=1)


@story
async def a_pod_of_somebody_else_under_our_name_is_left_alone_and_the_job_says_so(world: World):
    pod = {"metadata": {"name": "j-w-0-0", "labels": {"koordpy.io/queuejob": "x"}}, "spec": task()["template"]["spec"]}
    await world.api.ask("POST", world._pods(), pod)
    await world.create(job("j", task("w", 1)))
    told = await world.until_condition("PodsCreated", "False", "NameTaken")
    assert f"Pod {world.namespace}/j-w-0-0 is not of this QueueJob" in told
    await world.remove("j-w-0-0")
    await world.until_status(pending=1)


@story
async def a_service_of_somebody_else_is_left_alone_and_the_job_says_so(world: World):
    services = f"/api/v1/namespaces/{world.namespace}/services"
    spec = {"clusterIP": "None", "selector": {"a": "b"}}
    await world.api.ask("POST", services, {"metadata": {"name": "j"}, "spec": spec})
    await world.create(job("j", task("w", 1), network="Hostnames"))
    told = await world.until_condition("PodsCreated", "False", "NameTaken")
    assert f"Service {world.namespace}/j is not of this QueueJob" in told
    assert await world.pods() == {}


@story
async def a_service_that_is_deleted_is_made_again(world: World):
    await world.create(job("j", task("w", 1), network="Hostnames"))
    await world.until_status(pending=1)
    first = (await _service(world))["metadata"]["uid"]
    await world.api.ask("DELETE", _services(world, "j"))

    async def is_another() -> bool:
        found = await _service(world)
        return found is not None and found["metadata"]["uid"] != first

    await world.wait_for(is_another, "there is a Service again")
    assert (await _service(world))["spec"]["selector"] == {"koordpy.io/queuejob": "j"}
    await world.until_status(phase="Pending", pending=1, restarts=0, incarnation=0)


@story
async def without_hostnames_there_is_no_service_any_more(world: World):
    await world.create(job("j", task("w", 1), network="Hostnames"))
    await world.until_status(pending=1)
    assert await _service(world) is not None
    await world.change(network="None")
    await world.until_pods("j-w-0-1")
    await world.until_status(phase="Pending", pending=1)
    assert await _service(world) is None
    await world.change(network="Hostnames")
    await world.until_pods("j-w-0-2")
    await world.until_status(phase="Pending", pending=1)
    assert await _service(world) is not None


@story
async def a_suspended_job_that_asks_for_no_hostnames_any_more_has_no_service(world: World):
    await world.create(job("j", task("w", 1), network="Hostnames"))
    await world.until_status(pending=1)
    await world.change(network="None", suspend=True)
    await world.until_pods()
    await world.until_status(phase="Suspended", pending=0)
    assert await _service(world) is None


@story
async def a_service_of_somebody_else_is_not_deleted(world: World):
    spec = {"clusterIP": "None", "selector": {"a": "b"}}
    labels = {"koordpy.io/queuejob": "j"}
    await world.api.ask("POST", _services(world), {"metadata": {"name": "j", "labels": labels}, "spec": spec})
    await world.create(job("j", task("w", 1)))
    await world.until_status(pending=1)
    await world.quiet()
    assert (await _service(world))["spec"]["selector"] == {"a": "b"}


@story
async def a_job_goes_on_when_the_service_in_its_way_is_gone(world: World):
    spec = {"clusterIP": "None", "selector": {"a": "b"}}
    await world.api.ask("POST", _services(world), {"metadata": {"name": "j"}, "spec": spec})
    await world.create(job("j", task("w", 1), network="Hostnames"))
    await world.until_condition("PodsCreated", "False", "NameTaken")
    await world.api.ask("DELETE", _services(world, "j"))
    await world.until_status(pending=1)
    assert (await _service(world))["spec"]["selector"] == {"koordpy.io/queuejob": "j"}


def _services(world: World, name: str = "") -> str:
    return f"/api/v1/namespaces/{world.namespace}/services" + (f"/{name}" if name else "")


async def _service(world: World, name: str = "j") -> dict[str, Any] | None:
    listed = await world.api.ask("GET", _services(world))
    return next((each for each in listed["items"] if each["metadata"]["name"] == name), None)


# --- losses ---


@story
async def with_no_minimum_pods_are_made_again_one_by_one(world: World):
    await world.create(job("j", task("w", 2), minimum=0))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.fail("j-w-0-0")
    await world.fail("j-w-1-0")
    await world.until_status(phase="Running", pending=2, failed=0, restarts=0, incarnation=0)


@story
async def without_any_restarts_the_first_loss_is_the_end(world: World):
    await world.create(job("j", task("w", 2), maxRestarts=0))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.remove("j-w-0-0")
    await world.until_status(phase="Failed", restarts=0, running=0)
    told = await world.until_condition("Failed", "True", "MaxRestartsReached")
    assert told.startswith("pod j-w-0-0 is gone; 1 of the 2 that are needed")


@story
async def the_cause_of_an_eviction_is_told(world: World):
    await world.create(job("j", task("w", 1)))
    await world.start("j-w-0-0")
    await world.until_status(phase="Running")
    await world.phase("Failed", "j-w-0-0", reason="Evicted")
    await world.until_status(restarts=1, pending=1)
    assert "pod j-w-0-0 failed: Evicted" in await world.until_condition("Restarted", "True", "PodFailed")


@story
async def a_restart_that_waits_for_a_node_names_the_pod(world: World):
    await world.create(job("j", task("w", 2)))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.fail("j-w-0-0")

    async def is_named() -> bool:
        found = [each for each in (await world.status())["conditions"] if each["type"] == "PodsCreated"]
        return found[0]["message"] == "waiting for pods to terminate: j-w-1-0"

    await world.wait_for(is_named, "the pod is named")  # its kubelet does not answer
    await world.until_status(phase="Restarting", restarts=1, pending=2)


@story
async def a_restart_does_not_make_again_what_has_succeeded_and_was_deleted(world: World):
    await world.create(job("j", task("w", 3)))
    await world.start("j-w-0-0", "j-w-1-0", "j-w-2-0")
    await world.phase("Succeeded", "j-w-0-0")
    await world.until_status(succeeded=1, running=2)
    await world.remove("j-w-0-0")
    await world.until_status(succeeded=0, running=2)
    await world.fail("j-w-1-0")
    await world.until_pods("j-w-1-1", "j-w-2-1")
    await world.until_status(phase="Restarting", restarts=1, pending=2)
    await world.quiet()
    assert set(await world.pods()) == {"j-w-1-1", "j-w-2-1"}


@story
async def a_job_that_loses_a_pod_while_it_restarts_restarts_once_more(world: World):
    await world.create(job("j", task("w", 2)))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.fail("j-w-0-0")
    await world.start("j-w-0-1", "j-w-1-1")
    await world.until_status(phase="Running", running=2, restarts=1)
    await world.remove("j-w-1-1")
    await world.until_pods("j-w-0-2", "j-w-1-2")
    await world.until_status(phase="Restarting", restarts=2, pending=2)


# --- changes ---


@story
async def a_job_without_replicas_waits_for_some(world: World):
    await world.create(job("j", task("w", 0)))
    await world.until_status(phase="Pending", minAvailable=0)
    await world.quiet()
    assert (await world.status())["phase"] == "Pending"
    await world.change(taskSpecs=[task("w", 1)])
    await world.until_status(phase="Pending", pending=1, minAvailable=1)


@story
async def replicas_that_go_and_come_back_restart_nothing(world: World):
    await world.create(job("j", task("w", 4), maxRestarts=0))
    await world.start("j-w-0-0", "j-w-1-0", "j-w-2-0", "j-w-3-0")
    await world.until_status(phase="Running", running=4)
    await world.change(taskSpecs=[task("w", 2)])
    await world.until_pods("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.change(taskSpecs=[task("w", 4)])
    await world.until_pods("j-w-0-0", "j-w-1-0", "j-w-2-0", "j-w-3-0")
    await world.until_status(phase="Running", running=2, pending=2, restarts=0, incarnation=0)


@story
async def replicas_that_come_back_while_their_old_pods_terminate_restart_nothing(world: World):
    await world.create(job("j", task("w", 4), maxRestarts=0))
    await world.start("j-w-0-0", "j-w-1-0", "j-w-2-0", "j-w-3-0")
    await world.until_status(phase="Running", running=4)
    old = (await world.pods())["j-w-2-0"]["metadata"]["uid"]
    await world.change(taskSpecs=[task("w", 2)])
    for name in ("j-w-2-0", "j-w-3-0"):
        await world.wait_for(lambda name=name: world.is_terminating(name), f"{name} is deleted")
    await world.change(taskSpecs=[task("w", 4)])
    await world.fail("j-w-3-0", code=143)  # as many do that are told to end
    await world.quiet()
    await world.until_status(phase="Running", running=2, pending=2, failed=0, restarts=0, incarnation=0)
    assert (await world.pods())["j-w-2-0"]["metadata"]["uid"] != old


@story
async def a_pod_that_is_lost_after_its_place_came_back_restarts_all(world: World):
    await world.create(job("j", task("w", 2)))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.change(taskSpecs=[task("w", 1)])
    await world.until_pods("j-w-0-0")
    await world.until_status(phase="Running", running=1)
    await world.change(taskSpecs=[task("w", 2)])
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2, restarts=0)
    await world.remove("j-w-1-0")
    await world.until_pods("j-w-0-1", "j-w-1-1")
    await world.until_status(phase="Restarting", restarts=1, pending=2)


@story
async def more_replicas_after_the_end_change_nothing(world: World):
    await world.create(job("j", task("w", 1)))
    await world.start("j-w-0-0")
    await world.phase("Succeeded")
    await world.until_status(phase="Completed")
    await world.change(taskSpecs=[task("w", 2)])
    await world.quiet()
    assert set(await world.pods()) == {"j-w-0-0"}
    assert (await world.status())["phase"] == "Completed"


@story
async def a_job_is_suspended_while_it_backs_off(world: World):
    await world.create(job("j", task("w", 1)))
    await world.until_pods("j-w-0-0")
    await world.fail("j-w-0-0")
    await world.until_pods("j-w-0-1")
    await world.fail("j-w-0-1")
    await world.until_condition("PodsCreated", "False", "Waiting")
    await world.change(suspend=True)
    await world.until_status(phase="Suspended", restarts=2)
    await world.change(suspend=False)
    await world.until_status(phase="Pending", restarts=2, pending=1)


@story
async def another_template_while_suspended_is_what_it_resumes_with(world: World):
    await world.create(job("j", task("w", 1), suspend=True))
    await world.until_status(phase="Suspended")
    await world.change(taskSpecs=[task("w", 1, image="other")])
    await world.until_status(phase="Suspended", incarnation=1)
    await world.until_condition("Suspended", "True", "Suspended")
    await world.change(suspend=False)
    await world.until_pods("j-w-0-1")
    assert (await world.pods())["j-w-0-1"]["spec"]["containers"][0]["image"] == "other"
    await world.until_status(phase="Pending", pending=1)


@story
async def a_job_whose_status_was_wiped_keeps_its_pods(world: World):
    await world.create(job("j", task("w", 2)))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    before = {name: pod["metadata"]["uid"] for name, pod in (await world.pods()).items()}
    body = await world.job()
    del body["status"]
    await world.api.ask("PUT", f"{world._jobs('j')}/status", body)
    await world.until_status(phase="Running", running=2, restarts=0)
    assert {name: pod["metadata"]["uid"] for name, pod in (await world.pods()).items()} == before


@story
async def deleting_a_job_and_leaving_its_pods_leaves_them(world: World):
    await world.create(job("j", task("w", 1)))
    await world.until_status(pending=1)
    await world.api.ask("DELETE", world._jobs("j"), {"propagationPolicy": "Orphan"})
    await world.wait_for(lambda: world.is_gone("j"), "the job is gone")
    await world.quiet()
    assert set(await world.pods()) == {"j-w-0-0"}
    assert "ownerReferences" not in (await world.pods())["j-w-0-0"]["metadata"]


@story
async def deleting_a_job_in_the_foreground_makes_no_new_pods(world: World):
    await world.create(job("j", task("w", 2), minimum=1))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.api.ask("DELETE", world._jobs("j"), {"propagationPolicy": "Foreground"})
    await world.until(lambda: world.is_gone("j"), "the job is gone")
    assert await world.pods() == {}


# --- ResourceQuota and priorities ---


@story
async def quota_for_surplus_is_given_out_in_order_of_priority(world: World):
    await world.quota(most=0)
    for name, priority in (("low", 1), ("high", 9), ("middle", 5)):
        await world.create(job(name, task("w", 3), scheduling={"minAvailable": 0, "priority": priority}))
        await world.until_condition("PodsCreated", "False", "QuotaExceeded", name)
    await world.quota(most=4)
    await world.until_status("high", pending=2)
    await world.until_status("middle", pending=1)
    await world.until_status("low", pending=1)


@story
async def surplus_is_shared_in_round_robin(world: World):
    await world.quota(most=1)
    await world.create(job("a", task("w", 4), minimum=1))
    await world.until_condition("PodsCreated", "False", "QuotaExceeded", "a")
    await world.create(job("b", task("w", 4), minimum=1))
    await world.until_condition("PodsCreated", "False", "QuotaExceeded", "b")
    await world.quota(most=6)
    await world.until_status("a", pending=3)
    await world.until_status("b", pending=3)


@story
async def a_quota_of_one_resource_does_not_hold_up_pods_that_need_none_of_it(world: World):
    await world.quota("requests.example.com/gpu", most=1)
    await world.create(job("a", task("w", 2, gpus=1), scheduling={"priority": 9}))
    told = await world.until_condition("PodsCreated", "False", "QuotaExceeded", "a")
    assert "requested: requests.example.com/gpu=1" in told
    await world.create(job("b", task("w", 2)))
    await world.until_status("b", pending=2)
    assert len(await world.pods(of="a")) == 1


@story
async def freed_quota_goes_to_the_highest_priority_first(world: World):
    await world.quota(most=1)
    await world.create(job("first", task("w", 1), scheduling={"priority": 5}))
    await world.until_status("first", pending=1)
    await world.create(job("low", task("w", 1), scheduling={"priority": 1}))
    await world.until_condition("PodsCreated", "False", "QuotaExceeded", "low")
    await world.create(job("high", task("w", 1), scheduling={"priority": 9}))
    await world.until(lambda: _is_accepted(world, "high"), "high is known")
    await world.phase("Succeeded", "first-w-0-0")
    await world.until_status("high", pending=1)
    await world.quiet()
    assert await world.pods(of="low") == {}


async def _is_accepted(world: World, name: str) -> bool:
    return bool((await world.status(name)).get("phase"))


@story
async def a_priority_class_counts_before_a_number(world: World):
    value = {"metadata": {"name": "urgent"}, "value": 1000}
    await world.api.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", value)
    await world.quota(most=1)
    await world.create(job("first", task("w", 1), scheduling={"priority": 5000}))
    await world.until_status("first", pending=1)
    await world.create(job("number", task("w", 1), scheduling={"priority": 10}))
    await world.until_condition("PodsCreated", "False", "QuotaExceeded", "number")
    await world.create(job("class", task("w", 1), scheduling={"priorityClassName": "urgent", "priority": 1}))
    await world.until(lambda: _is_accepted(world, "class"), "it is known")
    await world.phase("Succeeded", "first-w-0-0")
    await world.until_status("class", pending=1)
    await world.quiet()
    assert await world.pods(of="number") == {}


ALL = STORIES  # with those above
