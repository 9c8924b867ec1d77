"""PyTorchJob, TFJob, XGBoostJob, JAXJob, MPIJob."""

import pytest

from koordpy.api.errors import MalformedValue
from tests.controllers.grouping.kinds.workloads import gang_of, minima, owner, parents, pod

TYPE, INDEX = "training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"
FIELDS = {"TFJob": "tfReplicaSpecs", "XGBoostJob": "xgbReplicaSpecs", "JAXJob": "jaxReplicaSpecs"}


def pytorch(master=1, workers=3, *, size=None, **spec):
    roles = {"Master": {"replicas": master}} if master else {}
    worker = {"replicas": workers}
    if size is not None:
        worker["template"] = {"metadata": {"annotations": {"kai.scheduler/segment-size": str(size)}}}
    return owner("PyTorchJob", {"pytorchReplicaSpecs": roles | {"Worker": worker}, **spec})


def asking(minimum):
    return {"schedulingPolicy": {"minAvailable": minimum}}


def worker(index):
    return pod(f"w{index}", labels={TYPE: "worker", INDEX: str(index)})


def test_all_replicas_start_together():
    found = gang_of(pytorch(), worker(0))
    assert (found.minimum, minima(found)) == (4, {"master": 1, "worker": 3})


def test_an_elastic_job_begins_with_its_minimum():
    found = gang_of(pytorch(0, 8, elasticPolicy={"minReplicas": 2}), worker(0))
    assert (found.minimum, minima(found)) == (2, {"worker": 2})


def test_what_is_asked_for_counts_more_than_the_elastic_minimum():
    found = gang_of(pytorch(1, 8, elasticPolicy={"minReplicas": 2}, runPolicy=asking(5)), worker(0))
    assert (found.minimum, minima(found)) == (5, {"master": 1, "worker": 4})


def test_a_minimum_below_the_masters_leaves_none_for_workers():
    found = gang_of(pytorch(2, 3, runPolicy=asking(1)), worker(0))
    assert minima(found) == {"master": 1, "worker": 0}


@pytest.mark.parametrize(
    ("field", "spec"),
    [("elasticPolicy.minReplicas", {"elasticPolicy": {"minReplicas": 5}}), ("minAvailable", {"runPolicy": asking(9)})],
)
def test_more_than_there_can_be_is_named(field, spec):
    with pytest.raises(MalformedValue, match=rf"{field}: \d is more than the 4 replicas"):
        gang_of(pytorch(1, 3, **spec), worker(0))


@pytest.mark.parametrize("spec", [{"elasticPolicy": {"minReplicas": 4}}, {"runPolicy": asking(4)}])
def test_as_many_as_there_can_be_may_be_asked_for(spec):
    assert gang_of(pytorch(1, 3, **spec), worker(0)).minimum == 4


def test_pods_are_placed_by_their_role():
    found = gang_of(pytorch(), pod("m", labels={TYPE: "master"}), worker(1))
    assert found.subgroup_of == {"uid-m": "master", "uid-w1": "worker"}


def test_workers_in_segments_are_placed_by_their_index():
    found = gang_of(pytorch(1, 5, size=2), *(worker(index) for index in range(5)))
    assert parents(found) == {"worker": 3}
    assert minima(found) == {"master": 1, "worker-0": 2, "worker-1": 2, "worker-2": 1}
    assert list(found.subgroup_of.values()) == ["worker-0", "worker-0", "worker-1", "worker-1", "worker-2"]


def test_segments_beyond_the_minimum_are_elastic():
    found = gang_of(pytorch(0, 6, size=2, elasticPolicy={"minReplicas": 4}), worker(0))
    assert (parents(found), minima(found)) == ({"worker": 2}, {"worker-0": 2, "worker-1": 2, "worker-2": 0})


@pytest.mark.parametrize("size", [0, 1, 6, "two"])
def test_a_segment_size_that_divides_nothing_is_named(size):
    with pytest.raises(MalformedValue, match="segment-size"):
        gang_of(pytorch(1, 5, size=size), worker(0))


@pytest.mark.parametrize("replicas", [0, None, -1, "3", True, 2**40])
@pytest.mark.parametrize("kind", ["PyTorchJob", *FIELDS])
def test_replicas_that_are_no_number_of_pods_are_named(kind, replicas):
    field = FIELDS.get(kind, "pytorchReplicaSpecs")
    roles = {"Master": {"replicas": 1}, "Worker": {"replicas": replicas}}
    with pytest.raises(MalformedValue, match=f"spec.{field}.Worker.replicas"):
        gang_of(owner(kind, {field: roles}), pod("a"))


@pytest.mark.parametrize("spec", [{}, {"pytorchReplicaSpecs": {}}, {"pytorchReplicaSpecs": [1]}, None])
def test_a_job_without_roles_is_not_understood(spec):
    with pytest.raises(MalformedValue, match="pytorchReplicaSpecs"):
        gang_of(owner("PyTorchJob", spec), pod("a"))


@pytest.mark.parametrize("kind", FIELDS)
def test_the_others_start_with_all_replicas_or_as_many_as_is_asked_for(kind):
    roles = {"Master": {"replicas": 1}, "Worker": {"replicas": 3}}
    assert gang_of(owner(kind, {FIELDS[kind]: roles}), pod("a")).minimum == 4
    assert gang_of(owner(kind, {FIELDS[kind]: roles, "runPolicy": asking(2)}), pod("a")).minimum == 2


@pytest.mark.parametrize("kind", [*FIELDS, "MPIJob"])
def test_of_the_others_too_more_than_there_can_be_is_named(kind):
    roles = {"Launcher": {"replicas": 1}} if kind == "MPIJob" else {"Master": {"replicas": 1}}
    spec = {FIELDS.get(kind, "mpiReplicaSpecs"): roles | {"Worker": {"replicas": 3}}, "runPolicy": asking(5)}
    with pytest.raises(MalformedValue, match="minAvailable: 5 is more than the 4 replicas"):
        gang_of(owner(kind, spec), pod("a"))


@pytest.mark.parametrize(("kind", "role"), [("XGBoostJob", "Master"), ("XGBoostJob", "Worker"), ("JAXJob", "Worker")])
def test_a_role_that_the_kind_needs_is_missed(kind, role):
    roles = {"Master": {"replicas": 1}, "Worker": {"replicas": 3}, "Other": {"replicas": 1}}
    del roles[role]
    with pytest.raises(MalformedValue, match=role):
        gang_of(owner(kind, {FIELDS[kind]: roles}), pod("a"))


def mpi(**spec):
    return owner("MPIJob", {"mpiReplicaSpecs": {"Launcher": {"replicas": 1}, "Worker": {"replicas": 4}}, **spec})


LAUNCHERS = [{"training.kubeflow.org/job-role": "launcher"}, {TYPE: "launcher"}]


def test_launcher_and_workers_of_an_mpijob_start_together():
    assert gang_of(mpi(), pod("w")).minimum == 5


def test_a_launcher_that_waits_for_its_workers_is_not_awaited():
    assert gang_of(mpi(launcherCreationPolicy="WaitForWorkersReady"), pod("w")).minimum == 4


@pytest.mark.parametrize("labels", LAUNCHERS)
def test_a_launcher_that_has_come_is_awaited(labels):
    late = mpi(launcherCreationPolicy="WaitForWorkersReady")
    assert gang_of(late, pod("w"), pod("l", labels=labels)).minimum == 5
    assert gang_of(late, pod("w"), pod("l", labels=labels, terminating=True)).minimum == 4


def test_an_mpijob_without_launcher_is_not_understood():
    with pytest.raises(MalformedValue, match="Launcher"):
        gang_of(owner("MPIJob", {"mpiReplicaSpecs": {"Worker": {"replicas": 4}}}), pod("a"))
