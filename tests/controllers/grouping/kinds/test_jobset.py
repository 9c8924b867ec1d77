"""JobSet."""

import pytest

from koordpy.api.errors import MalformedValue
from koordpy.controllers.grouping.podgroups import flattened
from tests.controllers.grouping.kinds.workloads import gang_of, minima, owner, parents, pod


def replicated(name, replicas=1, *, annotations=None, **spec):
    return {
        "name": name,
        "replicas": replicas,
        "template": {"metadata": {"annotations": annotations or {}}, "spec": spec},
    }


def jobset(*jobs, in_order=False, **meta):
    policy = {"startupPolicy": {"startupPolicyOrder": "InOrder"}} if in_order else {}
    return owner("JobSet", {"replicatedJobs": list(jobs), **policy}, **meta)


def jobset_pod(name, job, index=0):
    labels = {"jobset.sigs.k8s.io/replicatedjob-name": job, "jobset.sigs.k8s.io/job-index": str(index)}
    return pod(name, labels=labels)


BOTH = (replicated("driver"), replicated("workers", 2, parallelism=4))


def test_all_replicated_jobs_start_together_each_of_their_jobs_whole():
    found = gang_of(jobset(*BOTH), jobset_pod("d", "driver"))
    assert (found.minimum, found.min_subgroup) == (None, 2)
    assert parents(found) == {"driver": 1, "workers": 2}
    assert minima(found) == {"driver-replica-0": 1, "workers-replica-0": 4, "workers-replica-1": 4}


def test_pods_are_placed_by_their_job():
    found = gang_of(jobset(*BOTH), jobset_pod("d", "driver"), jobset_pod("w", "workers", 1))
    assert found.subgroup_of == {"uid-d": "driver-replica-0", "uid-w": "workers-replica-1"}


def test_in_order_only_what_has_begun_is_awaited():
    ordered = jobset(*BOTH, in_order=True)
    assert gang_of(ordered, jobset_pod("d", "driver")).min_subgroup == 1
    assert gang_of(ordered, jobset_pod("d", "driver"), jobset_pod("w", "workers")).min_subgroup == 2


def test_never_more_pods_are_awaited_than_the_job_completes():
    assert minima(gang_of(jobset(replicated("a", parallelism=5, completions=3)), pod("x"))) == {"a-replica-0": 3}


def test_the_template_says_how_many_pods_of_a_job_start_together():
    said = {"kai.scheduler/batch-min-member": "2"}
    assert minima(gang_of(jobset(replicated("a", parallelism=5, annotations=said)), pod("x"))) == {"a-replica-0": 2}


@pytest.mark.parametrize(("asked", "minimum"), [("1", 1), ("9", 2)])
def test_the_jobset_says_how_many_replicated_jobs_start_together(asked, minimum):
    said = {"kai.scheduler/batch-min-member": asked}
    assert gang_of(jobset(*BOTH, annotations=said), pod("x")).min_subgroup == minimum


@pytest.mark.parametrize("asked", ["0", "all"])
def test_an_annotation_that_is_no_minimum_is_named(asked):
    with pytest.raises(MalformedValue, match="batch-min-member"):
        gang_of(jobset(*BOTH, annotations={"kai.scheduler/batch-min-member": asked}), pod("x"))


def test_a_jobset_without_jobs_is_not_understood():
    with pytest.raises(MalformedValue, match="replicatedJobs"):
        gang_of(jobset(), pod("x"))


def test_where_subgroups_cannot_be_nested_all_members_are_counted():
    found = flattened(gang_of(jobset(*BOTH), jobset_pod("d", "driver")))
    assert (found.minimum, found.min_subgroup, parents(found)) == (9, None, {})
    assert minima(found) == {"driver-replica-0": 1, "workers-replica-0": 4, "workers-replica-1": 4}


def test_where_subgroups_cannot_be_nested_those_that_have_not_begun_are_left_out():
    found = flattened(gang_of(jobset(*BOTH, in_order=True), jobset_pod("d", "driver")))
    assert (found.minimum, minima(found)) == (1, {"driver-replica-0": 1})


def test_a_jobset_of_more_jobs_than_a_podgroup_can_have_is_not_worked_out():
    with pytest.raises(MalformedValue, match="would make more than 10000 subgroups"):
        gang_of(jobset(replicated("a", 9_000), replicated("workers", 2**31 - 1)), jobset_pod("w", "workers"))
