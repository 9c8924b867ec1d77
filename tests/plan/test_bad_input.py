"""What no API server should let in, and some does: a refusal that names pod, field and value, and all others go on."""

from typing import Any

import pytest

from tests.builders import node_json, pod_json, with_identity
from tests.plan.attempts import Attempts
from tests.plan.constraints import HOSTNAME, affinity, node_term, pod_term, requirement, selector, spread_over

NONSENSE = selector(requirement("app", "Sometimes", "web"))
NONSENSE_TEXT = "operator of app: 'Sometimes' is none of In, NotIn, Exists, DoesNotExist"
BAD_NODE_TERM = node_term(requirement("disk", "Near", "ssd"))
BAD_NODE_TEXT = "node affinity operator of disk: 'Near' is none of In, NotIn, Exists, DoesNotExist, Gt, Lt"

SPOKEN = [
    ({"affinity": affinity(nodes=[BAD_NODE_TERM])}, BAD_NODE_TEXT),
    ({"affinity": affinity(prefer_nodes=[(1, BAD_NODE_TERM)])}, BAD_NODE_TEXT),
    ({"affinity": affinity(near=[pod_term(HOSTNAME, NONSENSE)])}, NONSENSE_TEXT),
    ({"affinity": affinity(apart=[pod_term(HOSTNAME, NONSENSE)])}, NONSENSE_TEXT),
    ({"affinity": affinity(prefer_near=[(1, pod_term(HOSTNAME, NONSENSE))])}, NONSENSE_TEXT),
    ({"affinity": affinity(prefer_apart=[(1, pod_term(HOSTNAME, NONSENSE))])}, NONSENSE_TEXT),
    ({"affinity": affinity(near=[pod_term(HOSTNAME, {}, namespaceSelector=NONSENSE)])}, NONSENSE_TEXT),
    ({"spread": [spread_over(HOSTNAME, NONSENSE)]}, NONSENSE_TEXT),
]


def new(name: str = "new", **arguments: Any) -> dict[str, Any]:
    return with_identity(pod_json(name, **arguments))


@pytest.mark.parametrize(("said", "problem"), SPOKEN)
@pytest.mark.parametrize("nodes", [1, 2])
def test_an_operator_that_does_not_exist_is_named_however_many_nodes_there_are(said, problem, nodes):
    attempts = Attempts(*(node_json(f"n{i}", labels={"disk": "ssd"}) for i in range(nodes)))
    attempts.see_pod(new("strange", cpu=1, **said))
    attempts.see_pod(new("sane", cpu=1))
    attempts.run()
    assert attempts.refusals["default/strange"].message == f"pod default/strange cannot be read: {problem}"
    assert list(attempts.placed) == ["default/sane"]


@pytest.mark.parametrize(("said", "problem"), SPOKEN)
def test_a_pod_on_a_node_may_say_anything_and_still_takes_its_room(said, problem):
    attempts = Attempts(node_json(cpu=4))
    attempts.see_pod(new("strange", node="n1", cpu=3, scheduler="somebody-else", **said))
    attempts.see_pod(new("large", cpu=2))
    attempts.see_pod(new("small", cpu=1))
    attempts.run()
    assert attempts.refusals["default/large"].message == "0/1 nodes are available: 1 Insufficient cpu."
    assert attempts.placed == {"default/small": "n1"}


def test_a_field_selector_for_anything_but_the_name_is_named():
    attempts = Attempts(node_json())
    by_field = {"matchFields": [requirement("spec.podCIDR", "In", "10.0.0.0/8")]}
    attempts.see_pod(new("strange", affinity=affinity(nodes=[by_field])))
    attempts.run()
    problem = "node affinity matchFields: 'spec.podCIDR In' is not metadata.name In or NotIn"
    assert attempts.refusals["default/strange"].message == f"pod default/strange cannot be read: {problem}"


def test_labels_of_63_characters_are_labels_like_others():
    key, value = "example.com/" + "k" * 63, "v" * 63
    attempts = Attempts(node_json("long", labels={key: value}), node_json("other", labels={key: "v" * 62}))
    attempts.see_pod(new("first", labels={key: value}, node_selector={key: value}))
    attempts.run()
    attempts.see_pod(new("second", affinity=affinity(near=[pod_term(key, selector(**{key: value}))])))
    attempts.run()
    assert attempts.placed == {"default/first": "long", "default/second": "long"}


def test_an_absurd_request_fits_nowhere_and_an_absurd_node_takes_it():
    attempts = Attempts(node_json(memory="32Gi"))
    attempts.see_pod(new("absurd", memory="1e400"))
    attempts.see_pod(new("sane", memory="1Gi"))
    attempts.run()
    assert (
        attempts.refusals["default/absurd"].message
        == "0/1 nodes are available: 1 Insufficient memory; even on an empty cluster it would not fit"
    )
    assert attempts.placed == {"default/sane": "n1"}
    attempts.see_node(node_json("absurd", memory="1e400"))
    attempts.run()
    assert attempts.placed == {"default/sane": "n1", "default/absurd": "absurd"}


def test_many_absurd_containers_fit_nowhere_either():
    attempts = Attempts(node_json())
    absurd = new("absurd")
    absurd["spec"]["containers"] = [
        {"name": f"c{i}", "resources": {"requests": {"memory": "1e400"}}} for i in range(600)
    ]
    attempts.see_pod(absurd)
    attempts.run()
    assert (
        attempts.refusals["default/absurd"].message
        == "0/1 nodes are available: 1 Insufficient memory; even on an empty cluster it would not fit"
    )


def test_a_node_full_of_absurd_pods_has_no_room():
    attempts = Attempts(node_json(pods=1000))
    for i in range(300):
        attempts.see_pod(new(f"absurd{i}", node="n1", memory="1e400"))
    attempts.see_pod(new("sane", memory="1Gi"))
    attempts.run()
    assert attempts.placed == {}


@pytest.mark.parametrize("quantity", ["lots", "1e", "-1", "0x10", "१"])
def test_a_request_that_is_no_quantity_is_named_with_its_field(quantity):
    attempts = Attempts(node_json())
    attempts.see_pod(new("strange", cpu=quantity))
    attempts.see_pod(new("sane", cpu=1))
    attempts.run()
    message = attempts.refusals["default/strange"].message
    field = "pod default/strange cannot be read: spec.containers[0].resources.requests[cpu]"
    assert message.startswith(f"{field}: {quantity!r} is ")
    assert list(attempts.placed) == ["default/sane"]


@pytest.mark.parametrize("missing", ["allocatable", "status"])
def test_a_node_without_allocatable_has_nothing(missing):
    bare = node_json("bare")
    (bare if missing == "status" else bare["status"]).pop(missing)
    attempts = Attempts(bare)
    attempts.see_pod(new("any"))
    attempts.run()
    assert (
        attempts.refusals["default/any"].message
        == "0/1 nodes are available: 1 Too many pods; even on an empty cluster it would not fit"
    )
    attempts.see_node(node_json("bare"))
    attempts.run()
    assert attempts.placed == {"default/any": "bare"}


def test_a_node_with_an_unreadable_quantity_is_left_out_until_it_is_mended():
    attempts = Attempts(node_json("broken", cpu="lots"), node_json("whole"))
    attempts.see_pod(new("first", affinity=affinity(nodes=[node_term(name="broken")])))
    attempts.see_pod(new("second"))
    attempts.run()
    assert attempts.placed == {"default/second": "whole"}
    attempts.see_node(node_json("broken"))
    attempts.run()
    assert attempts.placed["default/first"] == "broken"


def test_resource_claims_are_refused_in_plain_words():
    attempts = Attempts(node_json())
    claiming = new("claiming")
    claiming["spec"]["resourceClaims"] = [{"name": "gpu"}]
    attempts.see_pod(claiming)
    attempts.run()
    message = attempts.refusals["default/claiming"].message
    assert message == "0/1 nodes are available: koordpy does not support resource claims (DRA) yet."


def test_no_nodes_at_all_is_said_so():
    attempts = Attempts()
    attempts.see_pod(new("lonely"))
    attempts.run()
    assert attempts.refusals["default/lonely"].message == "no nodes available to schedule pods"


def test_thousands_of_pods_of_one_owner_get_the_same_refusal_and_are_all_placed_when_there_is_room():
    attempts = Attempts(node_json("small", cpu=1, pods=5000))
    for i in range(2000):
        attempts.see_pod(new(f"p{i}", cpu=2, owner=("ReplicaSet", "workers"), labels={"index": str(i)}))
    attempts.run()
    assert {refusal.message for refusal in attempts.refusals.values()} == {
        "0/1 nodes are available: 1 Insufficient cpu; even on an empty cluster it would not fit"
    }
    assert len(attempts.refusals) == 2000
    attempts.see_node(node_json("large", cpu=3000, pods=1500))
    attempts.run()
    assert list(attempts.placed.values()) == ["large"] * 1500
