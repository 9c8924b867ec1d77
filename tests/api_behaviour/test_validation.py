"""What is refused, and that the answer names the field: the messages are what a user of koordpy gets to see."""

import pytest

from tests.api_behaviour.objects import container, node, pod
from tests.controlplane.client import Client, Json


def _requests(**requests: str) -> Json:
    return {"containers": [container(resources={"requests": requests})]}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": []}, "spec.containers"),
        ({"containers": [{"image": "none"}]}, "spec.containers[0].name"),
        ({"containers": [container(name="Not_Valid")]}, "spec.containers[0].name"),
        ({"containers": [container(), container()]}, "spec.containers[1].name"),
        (_requests(cpu="-1"), "spec.containers[0].resources.requests"),
        ({"nodeSelector": {"not a key": "x"}}, "spec.nodeSelector"),
        ({"tolerations": [{"operator": "Sometimes"}]}, "spec.tolerations[0].operator"),
        ({"restartPolicy": "Sometimes"}, "spec.restartPolicy"),
        ({"schedulingGates": [{"name": ""}]}, "spec.schedulingGates[0]"),
    ],
)
async def test_a_wrong_pod_spec_is_refused_with_422_and_the_field(api: Client, spec: Json, field: str):
    reply = await api.create("pods", pod("a", **spec))
    message = reply.refused(422, "Invalid")
    assert message.startswith('Pod "a" is invalid: ')
    assert field in message
    assert any(field in cause["field"] for cause in reply.body["details"]["causes"])


async def test_a_request_above_its_limit_is_refused(api: Client):
    resources = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    message = (await api.create("pods", pod("a", containers=[container(resources=resources)]))).refused(422, "Invalid")
    assert "spec.containers[0].resources.requests" in message
    assert "must be less than or equal to cpu limit" in message


async def test_a_quantity_that_is_none_is_refused_with_400(api: Client):
    message = (await api.create("pods", pod("a", **_requests(cpu="lots")))).refused(400, "BadRequest")
    assert "quantities must match the regular expression" in message


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", "x" * 254])
async def test_a_wrong_name_is_refused_with_422(api: Client, name: str):
    assert "metadata.name" in (await api.create("pods", pod(name))).refused(422, "Invalid")


@pytest.mark.parametrize("labels", [{"bad key": "x"}, {"key": "bad value!"}, {"key": "x" * 64}])
async def test_a_wrong_label_is_refused_with_422(api: Client, labels: dict[str, str]):
    assert "metadata.labels" in (await api.create("pods", pod("a", meta={"labels": labels}))).refused(422, "Invalid")


async def test_a_wrong_label_on_a_node_is_refused_with_422(api: Client):
    assert "metadata.labels" in (await api.create("nodes", node("n", zone="bad value!"))).refused(422, "Invalid")


async def test_a_body_that_is_no_json_is_400(api: Client):
    (await api.request("POST", api.path("pods"), "{")).refused(400, "BadRequest")


async def test_a_field_of_the_wrong_type_is_400(api: Client):
    (await api.create("pods", pod("a", terminationGracePeriodSeconds="soon"))).refused(400, "BadRequest")


async def test_a_body_of_another_kind_is_400(api: Client):
    (await api.create("pods", node("n"))).refused(400, "BadRequest")


async def test_a_dry_run_answers_as_if_and_stores_nothing(api: Client):
    assert (await api.create("pods", pod("a"), dryRun="All")).status == 201
    (await api.get("pods", "a")).refused(404, "NotFound")
