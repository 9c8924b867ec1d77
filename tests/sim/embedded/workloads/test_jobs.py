"""Jobs of the embedded cluster, in virtual time."""

import asyncio

import pytest

from tests.sim.embedded.inprocess import PODS, call
from tests.sim.embedded.workloads.world import conditions, job, world

pytestmark = [pytest.mark.looptime]


async def test_a_job_makes_pods_that_name_it_as_their_controller_and_carry_its_labels():
    async with world(binds=False) as w:
        made = await w.create("jobs", job(parallelism=2, completions=2))
        await asyncio.sleep(1)
        uid = made["metadata"]["uid"]
        assert len(w.all()) == 2
        for pod in w.all():
            metadata = pod["metadata"]
            assert metadata["name"].startswith("x-")
            (owner,) = metadata["ownerReferences"]
            assert owner == {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": "x",
                "uid": uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
            names = {"job-name": "x", "batch.kubernetes.io/job-name": "x"}
            uids = {"controller-uid": uid, "batch.kubernetes.io/controller-uid": uid}
            assert metadata["labels"] == {"app": "x", **names, **uids}
            assert metadata["finalizers"] == ["batch.kubernetes.io/job-tracking"]


async def test_a_job_runs_no_more_pods_at_a_time_than_its_parallelism_and_ends_with_its_completions():
    async with world() as w:
        await w.create("jobs", job(parallelism=2, completions=5, runs="10"))
        most = 0
        for _ in range(400):
            await asyncio.sleep(0.1)
            most = max(most, len(w.living()))
        status = await w.status("jobs")
        assert most == 2
        assert (status["succeeded"], "failed" in status, status.get("active")) == (5, False, None)
        assert conditions(status)["Complete"] == ("True", "CompletionsReached")
        assert "completionTime" in status
        assert ("Completed", "Job completed") in w.events()


async def test_a_finished_pod_keeps_counting_after_it_was_deleted():
    async with world() as w:
        await w.create("jobs", job(parallelism=1, completions=3, runs="5"))
        for _ in range(400):
            await asyncio.sleep(0.1)
            for pod in w.all():
                if pod["status"]["phase"] == "Succeeded":
                    await call(w.cluster, "DELETE", f"{PODS}/{pod['metadata']['name']}")
        assert (await w.status("jobs"))["succeeded"] == 3
        assert w.all() == []


async def test_the_pods_of_an_indexed_job_have_each_index_once():
    async with world(binds=False) as w:
        await w.create("jobs", job(parallelism=3, completions=3, completionMode="Indexed"))
        await asyncio.sleep(1)
        key = "batch.kubernetes.io/job-completion-index"
        pods = w.all()
        assert sorted(pod["metadata"]["labels"][key] for pod in pods) == ["0", "1", "2"]
        for pod in pods:
            index = pod["metadata"]["annotations"][key]
            assert pod["metadata"]["labels"][key] == index
            assert pod["metadata"]["name"].startswith(f"x-{index}-")
            assert pod["spec"]["hostname"] == f"x-{index}"
            assert [env["name"] for env in pod["spec"]["containers"][0]["env"]] == ["JOB_COMPLETION_INDEX"]


async def test_an_indexed_job_makes_a_lost_index_anew_and_no_other():
    async with world() as w:
        await w.create("jobs", job(parallelism=3, completions=3, completionMode="Indexed"))
        await asyncio.sleep(1)
        lost = next(name for name in w.names() if name.startswith("x-1-"))
        await call(w.cluster, "DELETE", f"{PODS}/{lost}")
        await asyncio.sleep(15)
        assert sorted(name[:4] for name in w.names()) == ["x-0-", "x-1-", "x-2-"]
        assert lost not in w.names()


async def test_completed_indexes_are_told_as_ranges():
    async with world() as w:
        await w.create("jobs", job(parallelism=4, completions=4, completionMode="Indexed", runs="5"))
        await asyncio.sleep(10)
        status = await w.status("jobs")
        assert (status["completedIndexes"], status["succeeded"]) == ("0-3", 4)


async def test_a_failed_pod_is_replaced_after_a_pause_that_doubles():
    async with world() as w:
        await w.create("jobs", job(runs="1", exits="1"))
        made, seen = [], set()
        for tick in range(500):
            await asyncio.sleep(0.1)
            for name in set(w.names()) - seen:
                made.append(tick / 10)
                seen.add(name)
        assert made[1] - made[0] == pytest.approx(11.3, abs=0.6)
        assert made[2] - made[1] == pytest.approx(21.3, abs=0.6)


async def test_a_job_fails_when_more_pods_have_failed_than_its_backoff_limit():
    async with world() as w:
        await w.create("jobs", job(runs="1", exits="1", backoffLimit=1, parallelism=2, completions=2))
        await asyncio.sleep(30)
        status = await w.status("jobs")
        assert conditions(status) == {
            "FailureTarget": ("True", "BackoffLimitExceeded"),
            "Failed": ("True", "BackoffLimitExceeded"),
        }
        assert status["failed"] == 2
        assert w.living() == []


async def test_a_job_that_is_active_for_too_long_fails_and_its_pods_go():
    async with world() as w:
        await w.create("jobs", job(activeDeadlineSeconds=20))
        await asyncio.sleep(15)
        assert len(w.living()) == 1
        await asyncio.sleep(10)
        status = await w.status("jobs")
        assert conditions(status)["Failed"] == ("True", "DeadlineExceeded")
        assert w.all() == []


async def test_a_suspended_job_has_no_pods_and_gets_them_when_it_is_resumed():
    async with world() as w:
        await w.create("jobs", job(suspend=True))
        await asyncio.sleep(1)
        status = await w.status("jobs")
        assert conditions(status) == {"Suspended": ("True", "JobSuspended")}
        assert w.all() == []
        assert "startTime" not in status
        await w.patch("jobs", "x", {"spec": {"suspend": False}})
        await asyncio.sleep(1)
        assert len(w.living()) == 1
        assert conditions(await w.status("jobs")) == {"Suspended": ("False", "JobResumed")}


async def test_a_job_that_is_suspended_loses_its_pods_and_they_are_no_failures():
    async with world() as w:
        await w.create("jobs", job(parallelism=3, completions=3))
        await asyncio.sleep(1)
        await w.patch("jobs", "x", {"spec": {"suspend": True}})
        await asyncio.sleep(1)
        assert w.all() == []
        assert "failed" not in await w.status("jobs")


async def test_a_pod_that_is_deleted_before_it_ends_counts_as_failed():
    async with world() as w:
        await w.create("jobs", job())
        await asyncio.sleep(1)
        await call(w.cluster, "DELETE", f"{PODS}/{w.names()[0]}")
        await asyncio.sleep(1)
        assert (await w.status("jobs"))["failed"] == 1
        assert w.all() == []


async def test_a_finished_job_goes_after_its_time_to_live_and_takes_its_pods_along():
    async with world() as w:
        await w.create("jobs", job(runs="1", ttlSecondsAfterFinished=30))
        await asyncio.sleep(25)
        assert w.names("jobs.batch") == ["x"]
        await asyncio.sleep(10)
        assert w.names("jobs.batch") == []
        assert w.all() == []


async def test_less_parallelism_takes_pods_away_that_are_no_failures():
    async with world() as w:
        await w.create("jobs", job(parallelism=4, completions=8))
        await asyncio.sleep(1)
        await w.patch("jobs", "x", {"spec": {"parallelism": 1}})
        await asyncio.sleep(1)
        assert len(w.all()) == 1
        assert "failed" not in await w.status("jobs")


async def test_a_job_of_another_controller_is_left_alone():
    async with world() as w:
        await w.create("jobs", job(managedBy="x.test/other"))
        await asyncio.sleep(1)
        assert w.all() == []
        assert await w.status("jobs") == {}


async def test_pods_that_are_refused_are_told_in_an_event_and_made_when_they_are_not():
    async with world() as w:
        refused = job()
        refused["spec"]["template"]["spec"]["priorityClassName"] = "absent"
        await w.create("jobs", refused)
        await asyncio.sleep(1)
        assert w.all() == []
        told = 'Error creating: pods "" is forbidden: no PriorityClass with name absent was found'
        assert any(reason == "FailedCreate" and "absent" in message for reason, message in w.events()), told
        await w.cluster.create(
            "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "absent"}, "value": 1}
        )
        await asyncio.sleep(10)
        assert len(w.living()) == 1


async def test_a_thousand_pods_are_all_made():
    async with world(binds=False) as w:
        await w.create("jobs", job(parallelism=1200, completions=1200))
        await asyncio.sleep(2)
        assert len(w.all()) == 1200
        assert (await w.status("jobs"))["active"] == 1200
