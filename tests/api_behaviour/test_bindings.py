"""pods/binding: the one write that a scheduler exists for, and every way in which it is refused."""

from tests.api_behaviour.objects import pod
from tests.controlplane.client import Client, Json

GATED = {"schedulingGates": [{"name": "koordpy.test/wait"}]}


def _condition(obj: Json, kind: str) -> Json:
    (found,) = [condition for condition in obj["status"].get("conditions", ()) if condition["type"] == kind]
    return found


async def test_a_binding_sets_the_node_and_answers_201_success(api: Client):
    created = (await api.create("pods", pod("a"))).ok()
    reply = await api.bind("a", "n", uid=created["metadata"]["uid"])
    assert reply.status == 201
    assert (reply.body["kind"], reply.body["status"]) == ("Status", "Success")
    assert (await api.get("pods", "a")).ok()["spec"]["nodeName"] == "n"


async def test_a_binding_does_not_ask_whether_the_node_exists(api: Client):
    (await api.create("pods", pod("a"))).ok()
    assert (await api.bind("a", "no-such-node")).status == 201


async def test_a_binding_sets_the_pod_scheduled_condition(api: Client):
    (await api.create("pods", pod("a"))).ok()
    (await api.bind("a", "n")).ok()
    condition = _condition((await api.get("pods", "a")).ok(), "PodScheduled")
    assert condition["status"] == "True"
    assert "lastTransitionTime" in condition


async def test_a_binding_turns_an_earlier_failure_to_schedule_into_success(api: Client):
    (await api.create("pods", pod("a"))).ok()
    failed = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    (await api.patch("pods", "a", {"status": {"conditions": [failed]}}, subresource="status")).ok()
    (await api.bind("a", "n")).ok()
    condition = _condition((await api.get("pods", "a")).ok(), "PodScheduled")
    assert condition["status"] == "True"
    assert not condition.get("reason")


async def test_a_binding_clears_the_nominated_node(api: Client):
    (await api.create("pods", pod("a"))).ok()
    nominated = {"status": {"nominatedNodeName": "n"}}
    assert (await api.patch("pods", "a", nominated, subresource="status")).ok()["status"]["nominatedNodeName"] == "n"
    (await api.bind("a", "m")).ok()
    assert "nominatedNodeName" not in (await api.get("pods", "a")).ok()["status"]


async def test_the_labels_and_annotations_of_a_binding_reach_the_pod(api: Client):
    (await api.create("pods", pod("a"))).ok()
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a", "annotations": {"koordpy.test/devices": "0,1"}},
        "target": {"kind": "Node", "name": "n"},
    }
    (await api.request("POST", api.path("pods", "a", subresource="binding"), binding)).ok()
    bound = (await api.get("pods", "a")).ok()
    assert bound["metadata"]["annotations"]["koordpy.test/devices"] == "0,1"


async def test_a_binding_for_another_uid_is_refused_with_409_and_changes_nothing(api: Client):
    (await api.create("pods", pod("a"))).ok()
    message = (await api.bind("a", "n", uid="00000000-0000-0000-0000-000000000000")).refused(409, "Conflict")
    assert "UID in precondition" in message
    assert "nodeName" not in (await api.get("pods", "a")).ok()["spec"]


async def test_a_bound_pod_is_not_bound_again_and_the_answer_names_its_node(api: Client):
    (await api.create("pods", pod("a"))).ok()
    (await api.bind("a", "n")).ok()
    message = (await api.bind("a", "m")).refused(409, "Conflict")
    assert 'pod a is already assigned to node "n"' in message


async def test_binding_again_to_the_same_node_is_refused_too(api: Client):
    (await api.create("pods", pod("a"))).ok()
    (await api.bind("a", "n")).ok()
    (await api.bind("a", "n")).refused(409, "Conflict")


async def test_binding_an_unknown_pod_is_404_and_names_it(api: Client):
    assert (await api.bind("nobody", "n")).refused(404, "NotFound") == 'pods "nobody" not found'


async def test_a_terminating_pod_is_not_bound(api: Client):
    (await api.create("pods", pod("a", meta={"finalizers": ["koordpy.test/hold"]}))).ok()
    (await api.delete("pods", "a")).ok()
    assert "pod a is being deleted, cannot be assigned to a host" in (await api.bind("a", "n")).refused(409, "Conflict")


async def test_a_gated_pod_is_not_bound(api: Client):
    (await api.create("pods", pod("a", **GATED))).ok()
    message = (await api.bind("a", "n")).refused(409, "Conflict")
    assert "pod a has non-empty .spec.schedulingGates" in message


async def test_a_gated_pod_says_so_in_its_condition(api: Client):
    created = (await api.create("pods", pod("a", **GATED))).ok()
    condition = _condition(created, "PodScheduled")
    assert (condition["status"], condition["reason"]) == ("False", "SchedulingGated")


async def test_removing_the_last_gate_lets_the_pod_be_bound(api: Client):
    (await api.create("pods", pod("a", **GATED))).ok()
    opened = (await api.patch("pods", "a", {"spec": {"schedulingGates": None}})).ok()
    assert "schedulingGates" not in opened["spec"]
    (await api.bind("a", "n")).ok()


async def test_a_gate_cannot_be_added_later(api: Client):
    (await api.create("pods", pod("a"))).ok()
    message = (await api.patch("pods", "a", {"spec": GATED})).refused(422, "Invalid")
    assert "spec.schedulingGates" in message


async def test_a_gated_pod_cannot_be_created_on_a_node(api: Client):
    message = (await api.create("pods", pod("a", nodeName="n", **GATED))).refused(422, "Invalid")
    assert "spec.nodeName" in message
