"""The stories of QueueJobs: what users and kubelets do, and what becomes of it.

Each is told on the embedded API and on a real one (`test_stories.py`), and with a controller that is killed before and
after each of its calls (`test_killed.py`). So a story waits for what it expects before it goes on, and says nothing
about how often anything was tried.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.controllers.queuejob.world import World, job, task
from tests.scenarios.api import MERGE

Story = Callable[[World], Awaitable[None]]
STORIES: list[Story] = []


def story(told: Story) -> Story:
    STORIES.append(told)
    return told


# --- from creation to completion ---


@story
async def a_queuejob_gets_a_scheduling_spec_pods_and_a_status_and_completes(world: World):
    await world.create(job("j", task("ps", 1), task("w", 2), minimum=2))
    await world.until_pods("j-ps-0-0", "j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Pending", pending=3, minAvailable=2)
    spec = await world.spec_of()
    assert spec["spec"] == {"minAvailable": 2}
    assert spec["metadata"]["ownerReferences"][0]["uid"] == (await world.job())["metadata"]["uid"]
    await world.phase("Running")
    await world.until_status(phase="Running", running=3, pending=0)
    await world.phase("Succeeded")
    await world.until_status(phase="Completed", succeeded=3, running=0, restarts=0)


@story
async def without_a_minimum_all_pods_start_together(world: World):
    await world.create(job("j", task("w", 3)))
    await world.until_pods("j-w-0-0", "j-w-1-0", "j-w-2-0")
    await world.until_status(minAvailable=3)
    assert (await world.spec_of())["spec"] == {"minAvailable": 3}


@story
async def the_older_name_of_the_sched_spec_counts(world: World):
    body = job("j", task("w", 2))
    body["spec"]["schedulingSpec"] = {"minAvailable": 1, "nodeSelector": {"zone": "a"}, "priority": 7}
    await world.create(body)
    await world.until_status(minAvailable=1, pending=2)
    assert (await world.spec_of())["spec"] == {"minAvailable": 1, "nodeSelector": {"zone": "a"}, "priority": 7}


@story
async def a_task_without_a_name_is_called_by_its_position(world: World):
    await world.create(job("j", task(replicas=1), task(replicas=1)))
    await world.until_pods("j-task0-0-0", "j-task1-0-0")


@story
async def pods_are_told_their_task_and_index(world: World):
    await world.create(job("j", task("w", 2), schedulerName="koord-scheduler"))
    await world.until_status(pending=2)
    pod = (await world.pods())["j-w-1-0"]
    labels = pod["metadata"]["labels"]
    assert {key: labels[key] for key in labels if key.startswith("koordpy.io/")} == {
        "koordpy.io/queuejob": "j",
        "koordpy.io/task": "w",
        "koordpy.io/index": "1",
        "koordpy.io/incarnation": "0",
    }
    assert labels["app"] == "a"
    env = {each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"] for each in pod["spec"]["containers"][0]["env"]}
    assert env == {
        "KOORDPY_TASK": "metadata.labels['koordpy.io/task']",
        "KOORDPY_INDEX": "metadata.labels['koordpy.io/index']",
    }
    assert (pod["spec"]["schedulerName"], pod["spec"]["restartPolicy"]) == ("koord-scheduler", "Never")


@story
async def with_hostnames_each_pod_is_found_by_name_through_a_headless_service(world: World):
    await world.create(job("j", task("w", 2), network="Hostnames"))
    await world.until_status(pending=2)
    service = await world.api.ask("GET", f"/api/v1/namespaces/{world.namespace}/services/j")
    assert (service["spec"]["clusterIP"], service["spec"]["publishNotReadyAddresses"]) == ("None", True)
    assert service["spec"]["selector"] == {"koordpy.io/queuejob": "j"}
    assert service["metadata"]["ownerReferences"][0]["kind"] == "QueueJob"
    spec = (await world.pods())["j-w-1-0"]["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("j-w-1", "j")


@story
async def a_pod_that_has_succeeded_and_is_deleted_is_not_made_again(world: World):
    await world.create(job("j", task("w", 2), minimum=1))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.phase("Succeeded", "j-w-0-0")
    await world.until_status(succeeded=1, running=1)
    await world.remove("j-w-0-0")
    await world.until_status(succeeded=0, running=1)
    await world.phase("Succeeded", "j-w-1-0")
    await world.until_status(phase="Completed", succeeded=1, restarts=0)
    await world.until_pods("j-w-1-0")


# --- pods that are lost ---


@story
async def a_pod_that_fails_below_the_minimum_restarts_all(world: World):
    await world.create(job("j", task("w", 3)))
    await world.start("j-w-0-0", "j-w-1-0", "j-w-2-0")
    await world.until_status(phase="Running", running=3)
    await world.fail("j-w-1-0", code=17)
    await world.until_pods("j-w-0-1", "j-w-1-1", "j-w-2-1")
    await world.until_status(phase="Restarting", restarts=1, pending=3, running=0, failed=0)
    told = await world.until_condition("Restarted", "True", "PodFailed")
    assert told == "pod j-w-1-0 failed: exit code 17; 2 of the 3 that are needed run or have succeeded"
    await world.phase("Running")
    await world.until_status(phase="Running", running=3)


@story
async def a_pod_that_fails_above_the_minimum_is_made_again_alone(world: World):
    await world.create(job("j", task("w", 3), minimum=2))
    await world.start("j-w-0-0", "j-w-1-0", "j-w-2-0")
    await world.until_status(phase="Running", running=3)
    first = (await world.pods())["j-w-1-0"]["metadata"]["uid"]
    await world.fail("j-w-1-0")
    await world.until_status(phase="Running", running=2, pending=1, failed=0, restarts=0)
    pods = await world.pods()
    assert set(pods) == {"j-w-0-0", "j-w-1-0", "j-w-2-0"}
    assert pods["j-w-1-0"]["metadata"]["uid"] != first


@story
async def a_running_pod_that_is_deleted_below_the_minimum_restarts_all(world: World):
    await world.create(job("j", task("w", 2)))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.remove("j-w-0-0")
    await world.until_pods("j-w-0-1", "j-w-1-1")
    await world.until_status(phase="Restarting", restarts=1, pending=2)


@story
async def a_running_pod_that_is_evicted_below_the_minimum_restarts_all(world: World):
    await world.create(job("j", task("w", 2)))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.evict("j-w-0-0")
    await world.until_pods("j-w-0-1", "j-w-1-1")
    await world.until_status(phase="Restarting", restarts=1, pending=2)


@story
async def a_running_pod_that_is_deleted_above_the_minimum_is_made_again_alone(world: World):
    await world.create(job("j", task("w", 3), minimum=1))
    await world.start("j-w-0-0", "j-w-1-0", "j-w-2-0")
    await world.until_status(phase="Running", running=3)
    await world.remove("j-w-0-0")
    await world.until_status(phase="Running", running=2, pending=1, restarts=0)
    await world.until_pods("j-w-0-0", "j-w-1-0", "j-w-2-0")


@story
async def a_pending_pod_that_is_deleted_is_made_again_and_the_others_are_left_alone(world: World):
    await world.create(job("j", task("w", 2)))
    await world.until_status(pending=2)
    other = (await world.pods())["j-w-1-0"]["metadata"]["uid"]
    await world.remove("j-w-0-0")
    await world.until_pods("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Pending", pending=2, restarts=0)
    assert (await world.pods())["j-w-1-0"]["metadata"]["uid"] == other


@story
async def a_pod_that_fails_while_the_others_are_still_starting_restarts_all(world: World):
    await world.create(job("j", task("w", 2)))
    await world.until_pods("j-w-0-0", "j-w-1-0")
    await world.fail("j-w-0-0")
    await world.until_pods("j-w-0-1", "j-w-1-1")
    await world.until_status(phase="Restarting", restarts=1, pending=2)


@story
async def a_restart_leaves_what_has_succeeded_alone(world: World):
    await world.create(job("j", task("w", 3)))
    await world.start("j-w-0-0", "j-w-1-0", "j-w-2-0")
    await world.phase("Succeeded", "j-w-0-0")
    await world.until_status(phase="Running", succeeded=1, running=2)
    await world.fail("j-w-1-0")
    await world.until_pods("j-w-0-0", "j-w-1-1", "j-w-2-1")
    await world.phase("Running")
    await world.phase("Succeeded")
    await world.until_status(phase="Completed", succeeded=3, restarts=1)


@story
async def the_second_restart_waits_and_says_until_when(world: World):
    await world.create(job("j", task("w", 1)))
    await world.until_pods("j-w-0-0")
    await world.fail("j-w-0-0")
    await world.until_pods("j-w-0-1")
    await world.fail("j-w-0-1")
    await world.until_condition("PodsCreated", "False", "Waiting", begins="restart 2 waits until 20")
    await world.until_pods("j-w-0-2")
    await world.until_status(phase="Restarting", restarts=2, pending=1)


@story
async def when_the_restarts_are_used_up_the_job_has_failed_and_what_runs_is_deleted(world: World):
    await world.create(job("j", task("w", 2), maxRestarts=1))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.fail("j-w-0-0")
    await world.start("j-w-0-1", "j-w-1-1")
    await world.until_status(phase="Running", running=2)
    await world.fail("j-w-1-1", code=3)
    await world.until_pods("j-w-1-1")  # for its logs
    await world.until_status(phase="Failed", restarts=1, failed=1, running=0)
    told = await world.until_condition("Failed", "True", "MaxRestartsReached")
    assert "pod j-w-1-1 failed: exit code 3" in told
    assert "spec.maxRestarts is 1" in told


@story
async def pods_of_the_next_incarnation_wait_until_the_last_ones_are_gone(world: World):
    await world.create(job("j", task("w", 2)))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.fail("j-w-0-0")
    await world.wait_for(lambda: world.is_terminating("j-w-1-0"), "the other one is deleted")
    await world.quiet()
    assert "j-w-0-1" not in await world.pods()
    await world.until_pods("j-w-0-1", "j-w-1-1")
    await world.until_status(phase="Restarting", restarts=1, pending=2)


# --- changes of the spec ---


@story
async def more_replicas_are_created_and_nothing_restarts(world: World):
    await world.create(job("j", task("w", 1)))
    await world.start("j-w-0-0")
    await world.until_status(phase="Running", running=1)
    await world.change(taskSpecs=[task("w", 3)])
    await world.until_pods("j-w-0-0", "j-w-1-0", "j-w-2-0")
    await world.until_status(phase="Running", running=1, pending=2, restarts=0, minAvailable=3, incarnation=0)
    assert (await world.spec_of())["spec"] == {"minAvailable": 3}


@story
async def fewer_replicas_delete_the_highest_indexes_and_nothing_restarts(world: World):
    await world.create(job("j", task("w", 3), minimum=1))
    await world.start("j-w-0-0", "j-w-1-0", "j-w-2-0")
    await world.until_status(phase="Running", running=3)
    await world.change(taskSpecs=[task("w", 1)])
    await world.until_pods("j-w-0-0")
    await world.until_status(phase="Running", running=1, restarts=0, incarnation=0)


@story
async def another_minimum_changes_the_scheduling_spec_alone(world: World):
    await world.create(job("j", task("w", 2), scheduling={"minAvailable": 1, "nodeSelector": {"a": "b", "c": "d"}}))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.change(schedSpec={"minAvailable": 2, "nodeSelector": {"c": None}, "priority": 3})
    await world.until_status(phase="Running", running=2, minAvailable=2, restarts=0, incarnation=0)
    assert (await world.spec_of())["spec"] == {"minAvailable": 2, "nodeSelector": {"a": "b"}, "priority": 3}


@story
async def another_template_makes_the_whole_job_anew(world: World):
    await world.create(job("j", task("w", 2)))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.phase("Succeeded", "j-w-0-0")
    await world.until_status(phase="Running", succeeded=1)
    await world.change(taskSpecs=[task("w", 2, image="other")])
    await world.until_pods("j-w-0-1", "j-w-1-1")
    await world.until_status(phase="Pending", pending=2, succeeded=0, restarts=0, incarnation=1)
    assert (await world.pods())["j-w-0-1"]["spec"]["containers"][0]["image"] == "other"


@story
async def another_task_makes_the_whole_job_anew(world: World):
    await world.create(job("j", task("w", 1)))
    await world.start("j-w-0-0")
    await world.until_status(phase="Running")
    await world.change(taskSpecs=[task("ps", 1), task("w", 1)])
    await world.until_pods("j-ps-0-1", "j-w-0-1")
    await world.until_status(phase="Pending", pending=2, restarts=0)


@story
async def a_failed_job_whose_template_is_mended_starts_anew(world: World):
    await world.create(job("j", task("w", 1), maxRestarts=0))
    await world.until_pods("j-w-0-0")
    await world.fail("j-w-0-0")
    await world.until_status(phase="Failed")
    await world.change(taskSpecs=[task("w", 1, image="mended")])
    await world.until_pods("j-w-0-1")
    await world.phase("Running")
    await world.phase("Succeeded")
    await world.until_status(phase="Completed", restarts=0)


@story
async def a_suspended_job_has_no_pods_and_goes_on_when_it_is_resumed(world: World):
    await world.create(job("j", task("w", 2)))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.change(suspend=True)
    await world.until_pods()
    await world.until_status(phase="Suspended", running=0, restarts=0)
    await world.until_condition("Suspended", "True")
    await world.change(suspend=False)
    await world.until_pods("j-w-0-1", "j-w-1-1")
    await world.until_status(phase="Pending", pending=2, restarts=0)
    await world.until_condition("Suspended", "False", "Resumed")


@story
async def a_job_that_is_created_suspended_has_no_pods(world: World):
    await world.create(job("j", task("w", 2), suspend=True))
    await world.until_status(phase="Suspended")
    await world.until_condition("Suspended", "True", "Suspended")
    await world.quiet()
    assert await world.pods() == {}
    await world.change(suspend=False)
    await world.until_pods("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Pending", pending=2)
    await world.until_condition("Suspended", "False", "Resumed")


@story
async def a_scheduling_spec_that_was_deleted_or_edited_is_put_right(world: World):
    await world.create(job("j", task("w", 1)))
    await world.until_status(pending=1)
    await world.api.ask("DELETE", world.specs("j"))
    await world.wait_for(world.spec_of, "it is made again")
    await world.api.ask("PATCH", world.specs("j"), {"spec": {"minAvailable": 9}}, MERGE)

    async def is_right() -> bool:
        return (await world.spec_of())["spec"] == {"minAvailable": 1}

    await world.wait_for(is_right, "the minimum is right again")


# --- the end ---


@story
async def deleting_a_job_removes_pods_and_scheduling_spec(world: World):
    await world.create(job("j", task("w", 2)))
    await world.start("j-w-0-0", "j-w-1-0")
    await world.until_status(phase="Running", running=2)
    await world.delete()
    await world.until_pods()

    async def is_gone() -> bool:
        return await world.spec_of() is None

    await world.wait_for(is_gone, "no SchedulingSpec")


@story
async def a_job_of_the_same_name_starts_from_the_beginning(world: World):
    await world.create(job("j", task("w", 1)))
    await world.until_pods("j-w-0-0")
    await world.fail("j-w-0-0")
    await world.until_status(restarts=1, pending=1)
    await world.delete()
    await world.until_pods()
    await world.create(job("j", task("w", 1)))
    await world.until_pods("j-w-0-0")
    await world.until_status(phase="Pending", restarts=0, pending=1)


@story
async def a_job_is_deleted_when_its_time_after_the_end_is_over(world: World):
    await world.create(job("j", task("w", 1), ttlSecondsAfterFinished=2))
    await world.start("j-w-0-0")
    await world.phase("Succeeded")
    await world.wait_for(lambda: world.is_gone("j"), "the job is deleted")
    await world.until_pods()


# --- ResourceQuota ---


@story
async def quota_goes_to_the_job_of_the_highest_priority_and_the_others_say_what_they_lack(world: World):
    await world.quota(most=3)
    await world.create(job("low", task("w", 2), scheduling={"priority": 1}, suspend=True))
    await world.create(job("high", task("w", 2), scheduling={"priority": 9}, suspend=True))
    for name in ("low", "high"):
        await world.until_status(name, phase="Suspended")
    await world.change("high", suspend=False)
    await world.until_status("high", pending=2)
    await world.change("low", suspend=False)
    told = await world.until_condition("PodsCreated", "False", "QuotaExceeded", "low")
    assert "exceeded quota: q, requested: pods=1" in told
    assert set(await world.pods(of="high")) == {"high-w-0-0", "high-w-1-0"}
    assert len(await world.pods(of="low")) == 1  # both were asked for at once: either may have got it


@story
async def what_quota_refused_is_created_when_quota_is_freed(world: World):
    await world.quota(most=2)
    await world.create(job("a", task("w", 2)))
    await world.until_status("a", pending=2)
    await world.create(job("b", task("w", 1)))
    await world.until_condition("PodsCreated", "False", "QuotaExceeded", "b")
    await world.phase("Running")
    await world.phase("Succeeded")
    await world.until_status("a", phase="Completed")
    await world.until_status("b", pending=1)
    await world.until_condition("PodsCreated", "True", name="b")


@story
async def minimums_come_before_the_surplus_of_others(world: World):
    await world.quota(most=3)
    await world.create(job("a", task("w", 4), scheduling={"minAvailable": 1, "priority": 9}, suspend=True))
    await world.create(job("b", task("w", 2), scheduling={"minAvailable": 2, "priority": 1}))
    await world.until_status("b", pending=2)
    await world.until_status("a", phase="Suspended")
    await world.change("a", suspend=False)
    await world.until_condition("PodsCreated", "False", "QuotaExceeded", "a")
    assert len(await world.pods(of="a")) == 1
    await world.quota(most=4)
    await world.until_status("a", pending=2)


# --- what cannot be used ---


@story
async def a_scheduling_spec_of_somebody_else_is_left_alone_and_the_job_says_so(world: World):
    body = {"apiVersion": "arbitrator.incubator.k8s.io/v1alpha1", "kind": "SchedulingSpec", "metadata": {"name": "j"}}
    await world.api.ask("POST", world.specs(), body | {"spec": {"minAvailable": 5}})
    await world.create(job("j", task("w", 1)))
    told = await world.until_condition("PodsCreated", "False", "NameTaken")
    assert f"SchedulingSpec {world.namespace}/j is not of this QueueJob" in told
    assert await world.pods() == {}
    assert (await world.spec_of())["spec"] == {"minAvailable": 5}


@story
async def a_pod_that_the_api_server_refuses_is_told_and_made_when_it_is_mended(world: World):
    broken = task("w", 1)
    broken["template"]["spec"]["containers"][0]["name"] = "Not A Name"
    await world.create(job("j", broken))
    told = await world.until_condition("PodsCreated", "False", "PodInvalid")
    assert "Not A Name" in told
    await world.change(taskSpecs=[task("w", 1)])
    await world.until_pods("j-w-0-1")
    await world.until_condition("PodsCreated", "True")
