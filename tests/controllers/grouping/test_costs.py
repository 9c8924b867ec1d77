"""What grouping costs: a read and a write for each workload, a write for each pod, and nothing at rest."""

from __future__ import annotations

import asyncio

WORKLOADS, PODS = 10, 20


async def test_a_workload_costs_one_read_and_one_write_and_one_write_for_each_pod(embedded):
    recording = embedded.recording
    async with embedded.grouper():
        spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": PODS}}}
        for number in range(WORKLOADS):
            owner = await embedded.owner("PyTorchJob", f"job-{number}", spec)
            for index in range(PODS):
                labels = {"training.kubeflow.org/replica-type": "worker"}
                await embedded.pod(f"job-{number}-{index}", owner, labels=labels)
        for number in range(WORKLOADS):
            await embedded.group_of(f"job-{number}-{PODS - 1}")
        await asyncio.sleep(0.2)
        assert recording.count("GET", "/pytorchjobs/") <= WORKLOADS
        assert recording.count("GET", "^/apis/kubeflow.org/v1$") == 1
        assert recording.count("POST", "scheduling.run.ai.*/podgroups$") == WORKLOADS
        assert recording.count("PATCH", "scheduling.run.ai.*/podgroups/[^/]*$") == 0
        assert recording.count("PATCH", "/pods/[^/]*$") == WORKLOADS * PODS
        assert recording.count("GET", "/pods/") == 0


async def test_an_owner_that_may_not_be_read_is_not_asked_for_by_each_of_its_pods(embedded):
    embedded.recording.refuse("GET", "simulations/", 403)
    async with embedded.grouper():
        owner = await embedded.owner("Simulation", "sim", {})
        for index in range(PODS):
            await embedded.pod(f"sim-{index}", owner)
        for index in range(PODS):
            await embedded.group_of(f"sim-{index}")
        assert embedded.recording.count("GET", "/simulations/") <= 2


async def test_a_status_that_changes_costs_nothing(embedded):
    recording = embedded.recording
    async with embedded.grouper():
        owner = await embedded.owner("Job", "batch")
        await embedded.pod("batch-0", owner)
        group = await embedded.group_of("batch-0")
        await asyncio.sleep(0.5)
        before = len(recording.requests)
        await embedded.change("PodGroup", group["metadata"]["name"], {"status": {"running": 1}}, sub="status")
        await embedded.change("Pod", "batch-0", {"status": {"phase": "Running"}}, sub="status")
        await asyncio.sleep(0.5)
        others = ("leases", "/status")  # the status is kept by another controller
        found = [path for _, path in recording.requests[before:] if not any(each in path for each in others)]
        assert [path for path in found if "pod" in path] == []
