"""Pods whose start depends on no other."""

import pytest

from koordpy.controllers.grouping.kinds.table import Kinds
from tests.controllers.grouping.kinds.workloads import gang_of, gangs_of, owner, pod


def test_each_pod_of_a_deployment_stands_for_itself():
    found = gangs_of(owner("Deployment"), pod("a", under="ReplicaSet"), pod("b", under="ReplicaSet"))
    assert [gang.alone for gang in found] == [True, True]
    assert {gang.priority for gang in found} == {"inference"}


@pytest.mark.parametrize("under", ["ReplicaSet", "DaemonSet", ""])
def test_pods_that_start_ungrouped_get_a_group_only_on_demand(under):
    assert gang_of(owner("Frobnicator"), pod("a", under=under)).on_demand


@pytest.mark.parametrize("under", ["StatefulSet", "Frobnicator"])
def test_pods_that_wait_to_be_grouped_get_one_in_any_case(under):
    assert not gang_of(owner("Frobnicator"), pod("a", under=under)).on_demand


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet", "Frobnicator"])
def test_a_kind_without_a_rule_is_one_group_of_which_any_pod_may_start(kind):
    assert gang_of(owner(kind), pod("a"), pod("b")).minimum == 1


def test_a_notebook_is_for_building():
    assert gang_of(owner("Notebook"), pod("a")).priority == "build"


@pytest.mark.parametrize(("asked", "minimum"), [(None, 1), ("3", 3), ("0", 1), ("x", 1)])
def test_a_knative_revision_begins_with_its_min_scale(asked, minimum):
    said = {"autoscaling.knative.dev/min-scale": asked} if asked is not None else {}
    found = gang_of(owner("Revision", annotations=said), pod("a"))
    assert (found.minimum, found.priority) == (minimum, "inference")


@pytest.mark.parametrize(
    ("chain", "grouped_by"),
    [
        ([("batch/v1", "Job"), ("batch/v1", "CronJob")], 0),
        ([("batch/v1", "Job"), ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("trainer.kubeflow.org/v1", "TrainJob")], 1),
        ([("argoproj.io/v1alpha1", "Workflow")], -1),
        ([("kubeflow.org/v1", "PyTorchJob"), ("argoproj.io/v1alpha1", "Workflow")], 0),
        ([("serving.knative.dev/v1", k) for k in ("Revision", "Configuration", "Service")], 0),
        ([("apps/v1", "ReplicaSet"), ("apps/v1", "Deployment")], 1),
        ([("ray.io/v1", "RayCluster"), ("ray.io/v1", "RayJob")], 1),
        ([("apps/v1", "StatefulSet"), ("example.com/v1", "Frobnicator")], 1),
        ([("kubeflow.org/v1", "PyTorchJob"), ("example.com/v1", "Frobnicator")], 0),
        ([("kubeflow.org/v1", "MPIJob"), ("example.com/v1", "Frobnicator"), ("argoproj.io/v1alpha1", "Workflow")], 0),
        ([], -1),
    ],
)
def test_the_topmost_owner_that_does_not_pass_down_is_grouped_by(chain, grouped_by):
    owners = []
    for api_version, kind in chain:
        made = owner(kind)
        owners.append(type(made)(api_version, kind, made.metadata))
    assert Kinds().grouped_by(owners) == grouped_by
