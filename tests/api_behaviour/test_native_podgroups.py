"""PodGroups of Kubernetes itself (`scheduling.k8s.io/v1alpha2`), which kube-apiserver 1.36 serves behind its gates."""

from typing import Any

import pytest

from tests.api_behaviour.objects import pod
from tests.controlplane.client import Client, Json

GROUPS = "apis/scheduling.k8s.io/v1alpha2/podgroups"


def pod_group(name: str = "a", policy: Json | None = None, **spec: Any) -> Json:
    said = {"schedulingPolicy": policy if policy is not None else {"gang": {"minCount": 2}}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": said | spec,
    }


async def test_a_new_one_has_a_disruption_mode_and_a_priority(api: Client):
    made = (await api.create(GROUPS, pod_group())).ok()
    said = {key: value for key, value in made["spec"].items() if value is not None}
    assert said == {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": "Pod", "priority": 0}


@pytest.mark.parametrize("policy", [{}, {"gang": {"minCount": 0}}, {"gang": {"minCount": 1}, "basic": {}}])
async def test_a_policy_that_makes_no_sense_is_refused(api: Client, policy: Json):
    assert "spec.schedulingPolicy" in (await api.create(GROUPS, pod_group(policy=policy))).refused(422, "Invalid")


async def test_a_class_that_does_not_exist_is_refused(api: Client):
    refused = await api.create(GROUPS, pod_group(priorityClassName="unknown"))
    assert "no PriorityClass with name unknown was found" in refused.refused(403, "Forbidden")


async def test_its_minimum_cannot_be_changed(api: Client):
    (await api.create(GROUPS, pod_group())).ok()
    patch = {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}
    assert "immutable" in (await api.patch(GROUPS, "a", patch, kind="merge")).refused(422, "Invalid")


async def test_the_scheduling_group_of_a_pod_is_kept(api: Client):
    made = (await api.create("pods", pod("p", schedulingGroup={"podGroupName": "a"}))).ok()
    assert made["spec"]["schedulingGroup"] == {"podGroupName": "a"}
