"""JobSet."""

import pytest

from koordpy.api.errors import MalformedValue
from koordpy.controllers.grouping.podgroups import flattened
from tests.controllers.grouping.kinds.workloads import gang_of, minima, owner, parents, pod


def replicated(name, replicas=1, *, annotations=None, after=None, status="Complete", **spec):
    """`after` is the replicated job that it depends on."""
    waits = {"dependsOn": [{"name": after, "status": status}]} if after else {}
    return {
        "name": name,
        "replicas": replicas,
        "template": {"metadata": {"annotations": annotations or {}}, "spec": spec},
        **waits,
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


def chain(status="Complete", **given):
    """As the runtimes of Kubeflow's trainer have it."""
    return jobset(
        replicated("dataset"),
        replicated("model", after="dataset", status=status),
        replicated("node", 2, after="model", status=status, parallelism=4),
        **given,
    )


@pytest.mark.parametrize("status", ["Complete", "Ready"])
def test_a_replicated_job_that_depends_on_another_is_awaited_once_it_has_pods(status):
    dataset, model, node = jobset_pod("d", "dataset"), jobset_pod("m", "model"), jobset_pod("n", "node", 1)
    assert parents(gang_of(chain(status), dataset)) == {"dataset": 1}
    assert parents(gang_of(chain(status), dataset, model)) == {"dataset": 1, "model": 1}
    found = gang_of(chain(status), dataset, model, node)
    assert (found.min_subgroup, parents(found)) == (3, {"dataset": 1, "model": 1, "node": 2})
    assert minima(found)["node-replica-0"] == 4


def test_one_that_depends_on_nothing_is_awaited_beside_it():
    spec = jobset(replicated("a"), replicated("b", parallelism=2), replicated("c", after="a"))
    found = gang_of(spec, jobset_pod("a", "a"))
    assert (found.min_subgroup, minima(found)) == (2, {"a-replica-0": 1, "b-replica-0": 2})


def test_one_that_has_completed_is_not_awaited_when_its_pods_are_gone():
    assert parents(gang_of(chain(), jobset_pod("n", "node"))) == {"node": 2}


def test_one_that_had_to_be_ready_is_awaited_again_when_its_pods_are_gone():
    spec = jobset(replicated("driver"), replicated("workers", after="driver", status="Ready"))
    assert parents(gang_of(spec, jobset_pod("w", "workers"))) == {"driver": 1, "workers": 1}


def test_one_that_depends_on_a_job_without_replicas_waits_for_nothing():
    spec = jobset(replicated("model", 0), replicated("node", after="model"), replicated("other"))
    assert parents(gang_of(spec, jobset_pod("o", "other"))) == {"node": 1, "other": 1}


def test_no_more_replicated_jobs_are_asked_for_than_have_begun():
    said = {"kai.scheduler/batch-min-member": "2"}
    assert gang_of(chain(annotations=said), jobset_pod("d", "dataset")).min_subgroup == 1


@pytest.mark.parametrize("waits", ["node", [2]])
def test_dependencies_that_are_none_are_named(waits):
    with pytest.raises(MalformedValue, match="dependsOn"):
        gang_of(jobset(replicated("a"), replicated("b") | {"dependsOn": waits}), jobset_pod("a", "a"))


def test_never_more_pods_are_awaited_than_the_job_completes():
    assert minima(gang_of(jobset(replicated("a", parallelism=5, completions=3)), pod("x"))) == {"a-replica-0": 3}


def test_the_template_says_how_many_pods_of_a_job_start_together():
    said = {"kai.scheduler/batch-min-member": "2"}
    assert minima(gang_of(jobset(replicated("a", parallelism=5, annotations=said)), pod("x"))) == {"a-replica-0": 2}


def test_a_template_that_asks_for_more_pods_than_there_are_at_a_time_is_named():
    said = {"kai.scheduler/batch-min-member": "3"}
    with pytest.raises(
        MalformedValue, match=r"replicatedJobs\[0\].*batch-min-member: 3 is more than the 2 pods at a time"
    ):
        gang_of(jobset(replicated("a", parallelism=2, completions=9, annotations=said)), pod("x"))


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


@pytest.mark.parametrize("status", ["Complete", "Ready"])
def test_where_subgroups_cannot_be_nested_those_that_depend_on_others_are_left_out_until_they_have_pods(status):
    found = flattened(gang_of(chain(status), jobset_pod("d", "dataset")))
    assert (found.minimum, minima(found)) == (1, {"dataset-replica-0": 1})
    dataset, model, node = jobset_pod("d", "dataset"), jobset_pod("m", "model"), jobset_pod("n", "node", 1)
    assert flattened(gang_of(chain(status), dataset, model, node)).minimum == 10


def test_where_subgroups_cannot_be_nested_a_part_that_depends_on_nothing_is_awaited_before_it_has_pods():
    spec = jobset(replicated("a"), replicated("b", 2, parallelism=2), replicated("c", after="a"))
    found = flattened(gang_of(spec, jobset_pod("a", "a")))
    assert (found.minimum, minima(found)) == (5, {"a-replica-0": 1, "b-replica-0": 2, "b-replica-1": 2})


def test_a_jobset_of_more_jobs_than_a_podgroup_can_have_is_not_worked_out():
    with pytest.raises(MalformedValue, match="would make more than 10000 subgroups"):
        gang_of(jobset(replicated("a", 9_000), replicated("workers", 2**31 - 1)), jobset_pod("w", "workers"))
