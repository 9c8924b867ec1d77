"""Workloads as the API server sees them: defaults, checks, the subresource `scale`. Nobody makes pods here."""

import pytest

from tests.api_behaviour.objects import container
from tests.controlplane.client import Client, Json

DEPLOYMENTS, SETS = "apis/apps/v1/deployments", "apis/apps/v1/replicasets"
STATEFUL, JOBS = "apis/apps/v1/statefulsets", "apis/batch/v1/jobs"
LABELS = {"app": "x"}
KINDS = {DEPLOYMENTS: "Deployment", SETS: "ReplicaSet", STATEFUL: "StatefulSet"}


def template(**spec: object) -> Json:
    return {"metadata": {"labels": LABELS}, "spec": {"containers": [container()], **spec}}


def replicated(**spec: object) -> Json:
    selector = {"matchLabels": LABELS}
    return {"metadata": {"name": "x"}, "spec": {"selector": selector, "template": template(), **spec}}


def job(**spec: object) -> Json:
    return {"metadata": {"name": "x"}, "spec": {"template": template(restartPolicy="Never"), **spec}}


async def delete(api: Client, resource: str, policy: str) -> None:
    (await api.request("DELETE", api.path(resource, "x"), {"propagationPolicy": policy})).ok()


async def test_a_deployment_is_given_its_defaults(api: Client):
    made = (await api.create(DEPLOYMENTS, replicated())).ok()
    spec = made["spec"]
    assert (spec["replicas"], spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (1, 10, 600)
    rolling = {"maxUnavailable": "25%", "maxSurge": "25%"}
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": rolling}
    assert made["metadata"]["generation"] == 1
    assert made["status"] == {}


async def test_the_template_of_a_workload_is_given_the_defaults_of_a_pod(api: Client):
    made = (await api.create(SETS, replicated())).ok()
    assert made["spec"]["template"] == {
        "metadata": {"labels": LABELS},
        "spec": {
            "containers": [
                {
                    **container(),
                    "imagePullPolicy": "Always",
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }
            ],
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
        },
    }
    assert made["status"] == {"replicas": 0}


async def test_a_stateful_set_is_given_its_defaults(api: Client):
    made = (await api.create(STATEFUL, replicated())).ok()
    spec = made["spec"]
    assert (spec["replicas"], spec["podManagementPolicy"]) == (1, "OrderedReady")
    assert spec["updateStrategy"]["type"] == "RollingUpdate"
    assert spec["updateStrategy"]["rollingUpdate"]["partition"] == 0
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    assert made["status"]["replicas"] == 0


async def test_a_job_is_given_its_defaults_and_selects_its_pods_by_its_uid(api: Client):
    made = (await api.create(JOBS, job())).ok()
    uid, spec = made["metadata"]["uid"], made["spec"]
    counts = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False}
    assert {key: spec[key] for key in counts} == counts
    assert (spec["podReplacementPolicy"], spec["manualSelector"]) == ("TerminatingOrFailed", False)
    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    names = {"job-name": "x", "batch.kubernetes.io/job-name": "x"}
    uids = {"controller-uid": uid, "batch.kubernetes.io/controller-uid": uid}
    assert spec["template"]["metadata"]["labels"] == {**LABELS, **names, **uids}
    assert made["metadata"]["labels"] == spec["template"]["metadata"]["labels"]
    assert made["status"] == {}


async def test_a_job_with_parallelism_and_without_completions_keeps_it_so(api: Client):
    made = (await api.create(JOBS, job(parallelism=3))).ok()
    assert "completions" not in made["spec"]


async def test_a_field_that_an_update_leaves_out_has_its_default_again(api: Client):
    (await api.create(DEPLOYMENTS, replicated(replicas=3))).ok()
    (await api.patch(DEPLOYMENTS, "x", {"spec": {"replicas": None}})).ok()
    assert (await api.get(DEPLOYMENTS, "x")).ok()["spec"]["replicas"] == 1


@pytest.mark.parametrize("resource", KINDS)
async def test_a_selector_is_required(api: Client, resource: str):
    wrong = replicated()
    del wrong["spec"]["selector"]
    told = (await api.create(resource, wrong)).refused(422, "Invalid")
    assert "spec.selector: Required value" in told


@pytest.mark.parametrize("resource", KINDS)
async def test_a_selector_must_select_the_template(api: Client, resource: str):
    wrong = replicated(selector={"matchLabels": {"app": "y"}})
    told = (await api.create(resource, wrong)).refused(422, "Invalid")
    field = 'spec.template.metadata.labels: Invalid value: {"app":"x"}'
    assert told == f'{KINDS[resource]}.apps "x" is invalid: {field}: `selector` does not match template `labels`'


@pytest.mark.parametrize("resource", KINDS)
async def test_pods_that_are_replaced_must_restart_by_themselves(api: Client, resource: str):
    wrong = replicated(template=template(restartPolicy="Never"))
    told = (await api.create(resource, wrong)).refused(422, "Invalid")
    assert 'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"' in told


async def test_pods_of_a_job_may_not_restart_for_ever(api: Client):
    told = (await api.create(JOBS, job(template=template()))).refused(422, "Invalid")
    assert 'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"' in told


@pytest.mark.parametrize(
    ("field", "value"),
    [("parallelism", -1), ("completions", -1), ("backoffLimit", -2), ("ttlSecondsAfterFinished", -3)],
)
async def test_numbers_of_a_job_are_not_negative(api: Client, field: str, value: int):
    told = (await api.create(JOBS, job(**{field: value}))).refused(422, "Invalid")
    assert f"spec.{field}: Invalid value: {value}: must be greater than or equal to 0" in told


async def test_an_indexed_job_has_completions(api: Client):
    told = (await api.create(JOBS, job(parallelism=2, completionMode="Indexed"))).refused(422, "Invalid")
    assert "spec.completions: Required value: when completion mode is Indexed" in told


async def test_a_mistake_in_a_template_names_its_place(api: Client):
    wrong = replicated(template=template(containers=[{"name": "main"}]))
    told = (await api.create(DEPLOYMENTS, wrong)).refused(422, "Invalid")
    assert "spec.template.spec.containers[0].image: Required value" in told


@pytest.mark.parametrize("resource", [DEPLOYMENTS, SETS])
async def test_a_selector_does_not_change(api: Client, resource: str):
    (await api.create(resource, replicated())).ok()
    labels = {"app": "y"}
    change = {"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}}
    told = (await api.patch(resource, "x", change)).refused(422, "Invalid")
    assert "spec.selector: Invalid value" in told
    assert "field is immutable" in told


async def test_the_template_of_a_running_job_does_not_change(api: Client):
    (await api.create(JOBS, job())).ok()
    change = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}
    told = (await api.patch(JOBS, "x", change)).refused(422, "Invalid")
    assert "spec.template: Invalid value" in told
    assert "field is immutable" in told


async def test_a_job_that_was_never_started_may_be_told_where_its_pods_go(api: Client):
    (await api.create(JOBS, job(suspend=True))).ok()
    change = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}
    (await api.patch(JOBS, "x", change)).ok()


async def test_a_stateful_set_keeps_what_makes_its_pods_known(api: Client):
    (await api.create(STATEFUL, replicated(serviceName="s"))).ok()
    told = (await api.patch(STATEFUL, "x", {"spec": {"serviceName": "t"}})).refused(422, "Invalid")
    assert "spec: Forbidden: updates to statefulset spec for fields other than 'replicas'" in told


async def test_a_deployment_cannot_forbid_both_more_and_fewer_pods(api: Client):
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
    told = (await api.create(DEPLOYMENTS, replicated(strategy=strategy))).refused(422, "Invalid")
    field = "spec.strategy.rollingUpdate.maxUnavailable"
    assert f"{field}: Invalid value: 0: may not be 0 when `maxSurge` is 0" in told


@pytest.mark.parametrize("resource", KINDS)
async def test_scale_shows_the_replicas_and_the_selector(api: Client, resource: str):
    (await api.create(resource, replicated(replicas=4))).ok()
    scale = (await api.request("GET", api.path(resource, "x", subresource="scale"))).ok()
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {"replicas": 4}
    assert scale["status"] == {"replicas": 0, "selector": "app=x"}


@pytest.mark.parametrize("resource", KINDS)
async def test_scale_changes_the_replicas_and_counts_a_generation(api: Client, resource: str):
    (await api.create(resource, replicated(replicas=4))).ok()
    change = {"spec": {"replicas": 2}}
    scale = (await api.patch(resource, "x", change, subresource="scale")).ok()
    assert scale["spec"] == {"replicas": 2}
    changed = (await api.get(resource, "x")).ok()
    assert (changed["spec"]["replicas"], changed["metadata"]["generation"]) == (2, 2)


async def test_scale_to_nothing_is_no_mistake_and_to_less_is(api: Client):
    (await api.create(DEPLOYMENTS, replicated(replicas=4))).ok()
    none = (await api.patch(DEPLOYMENTS, "x", {"spec": {"replicas": 0}}, subresource="scale")).ok()
    assert none["spec"] == {}
    refused = await api.patch(DEPLOYMENTS, "x", {"spec": {"replicas": -1}}, subresource="scale")
    told = refused.refused(422, "Invalid")
    assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in told


async def test_scale_with_an_old_resource_version_is_a_conflict(api: Client):
    (await api.create(DEPLOYMENTS, replicated(replicas=4))).ok()
    path = api.path(DEPLOYMENTS, "x", subresource="scale")
    scale = (await api.request("GET", path)).ok()
    (await api.patch(DEPLOYMENTS, "x", {"spec": {"replicas": 5}})).ok()
    scale["spec"]["replicas"] = 1
    (await api.request("PUT", path, scale)).refused(409, "Conflict")


@pytest.mark.parametrize(("policy", "finalizer"), [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")])
async def test_a_deletion_that_asks_for_more_waits_for_the_garbage_collector(api: Client, policy: str, finalizer: str):
    (await api.create(DEPLOYMENTS, replicated())).ok()
    await delete(api, DEPLOYMENTS, policy)
    waiting = (await api.get(DEPLOYMENTS, "x")).ok()
    assert waiting["metadata"]["finalizers"] == [finalizer]
    assert "deletionTimestamp" in waiting["metadata"]


async def test_a_background_deletion_waits_for_nobody(api: Client):
    (await api.create(JOBS, job())).ok()
    await delete(api, JOBS, "Background")
    (await api.get(JOBS, "x")).refused(404, "NotFound")


async def test_the_pods_of_a_job_are_orphans_unless_its_deletion_says_otherwise(api: Client):
    (await api.create(JOBS, job())).ok()
    (await api.delete(JOBS, "x")).ok()
    assert (await api.get(JOBS, "x")).ok()["metadata"]["finalizers"] == ["orphan"]
