"""RayCluster, RayJob, RayService."""

import pytest

from koordpy.api.errors import MalformedValue
from koordpy.controllers.grouping.podgroups import with_others
from tests.controllers.grouping.kinds.workloads import gang_of, minima, owner, pod


def cluster(*groups, name="c", **meta):
    return owner("RayCluster", {"headGroupSpec": {}, "workerGroupSpecs": list(groups)}, name=name, **meta)


def group(name="g", **fields):
    return {"groupName": name, **fields}


def ray_pod(name, part):
    return pod(name, labels={"ray.io/group": part})


def test_the_head_and_all_workers_start_together():
    found = gang_of(
        cluster(group("small", replicas=2), group("big", replicas=1, numOfHosts=4)), ray_pod("h", "headgroup")
    )
    assert (found.minimum, minima(found)) == (7, {"headgroup": 1, "small": 2, "big": 4})


def test_a_group_that_may_grow_begins_with_its_minimum():
    assert minima(gang_of(cluster(group(minReplicas=1, replicas=5)), pod("a")))["g"] == 1


def test_a_group_that_begins_empty_is_there_for_the_pods_of_the_autoscaler():
    assert minima(gang_of(cluster(group(minReplicas=0, replicas=0)), pod("a"))) == {"headgroup": 1, "g": 0}


def test_a_suspended_group_has_no_pods():
    found = gang_of(cluster(group(replicas=3, suspend=True)), pod("a"))
    assert (found.minimum, minima(found)) == (1, {"headgroup": 1})


def test_a_group_without_a_name_is_called_by_its_number():
    assert minima(gang_of(cluster({"replicas": 2}), pod("a"))) == {"headgroup": 1, "worker-group-0": 2}


def test_more_at_least_than_there_are_is_named():
    with pytest.raises(MalformedValue, match=r"workerGroupSpecs\[0\].minReplicas"):
        gang_of(cluster(group(minReplicas=3, replicas=2)), pod("a"))


def test_pods_are_placed_by_their_group():
    found = gang_of(cluster(group(replicas=1)), ray_pod("h", "headgroup"), ray_pod("w", "g"))
    assert found.subgroup_of == {"uid-h": "headgroup", "uid-w": "g"}


def test_a_rayjob_is_as_large_as_its_cluster():
    found = gang_of(owner("RayJob", {}, {"rayClusterName": "c"}), pod("a"), below=(cluster(group(replicas=2)),))
    assert found.minimum == 3


def test_a_rayjob_on_a_cluster_that_is_there_is_only_submitted():
    found = gang_of(owner("RayJob", {"clusterSelector": {"ray.io/cluster": "c"}}), pod("submit"))
    assert (found.minimum, found.subgroups) == (1, ())


def test_the_pod_that_submits_a_rayjob_is_awaited_by_nobody_and_is_no_stranger():
    clusters = (cluster(group(replicas=1)),)
    found = with_others(gang_of(owner("RayJob", {}), ray_pod("h", "headgroup"), pod("submit"), below=clusters))
    assert found.subgroup_of["uid-submit"] == "others"
    assert minima(found)["others"] == 0


def test_a_rayservice_is_as_large_as_the_cluster_that_serves():
    both = (cluster(group(replicas=1), name="old"), cluster(group(replicas=9), name="new"))
    status = {"activeServiceStatus": {"rayClusterName": "new"}, "pendingServiceStatus": {"rayClusterName": "old"}}
    assert gang_of(owner("RayService", {}, status), pod("a"), below=both).minimum == 10
    del status["activeServiceStatus"]
    assert gang_of(owner("RayService", {}, status), pod("a"), below=both).minimum == 2


def test_a_rayjob_whose_cluster_nobody_knows_is_not_understood():
    with pytest.raises(MalformedValue, match="rayClusterName"):
        gang_of(owner("RayJob", {}, {"rayClusterName": "c"}), pod("a"))


def test_a_label_of_ray_names_the_priority_class():
    assert gang_of(cluster(), pod("a")).priority_label == "ray.io/priority-class-name"


def test_topology_annotations_of_a_template_are_those_of_its_group():
    said = {"kai.scheduler/topology-required-placement": "rack", "kai.scheduler/topology": "t"}
    found = gang_of(cluster(group(replicas=1, template={"metadata": {"annotations": said}})), pod("a"))
    assert [each.topology.required for each in found.subgroups] == ["", "rack"]
