import msgspec
import pytest

from koordpy.api.decode import Decoder, decode_event, decode_page, decode_status, resource_version_of
from koordpy.api.errors import MalformedObject, MalformedValue
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.storage import CSINode
from koordpy.api.topology import gather_rules
from koordpy.state.cluster import Cluster
from tests.builders import node_json, pod_json, typed, with_identity

decode_pod = Decoder("Pod", Pod)


def test_unknown_fields_are_ignored():
    body = with_identity(pod_json("p", cpu=1))
    body["spec"]["somethingNew"] = {"deep": [1, 2]}
    assert decode_pod(msgspec.json.encode(body)).metadata.name == "p"


def test_garbage_in_a_field_we_read_names_object_and_field():
    body = with_identity(pod_json("p", namespace="ns"))
    body["spec"]["priority"] = "high"
    with pytest.raises(MalformedObject, match=r"Pod ns/p: Expected `int`, got `str` - at `\$\.spec\.priority`"):
        decode_pod(msgspec.json.encode(body))


def test_one_bad_item_does_not_spoil_its_page():
    page = decode_page(msgspec.json.encode({"items": [{"metadata": 5}, with_identity(pod_json("good"))]}))
    with pytest.raises(MalformedObject):
        decode_pod(page.items[0])
    assert decode_pod(page.items[1]).metadata.name == "good"


def test_a_bookmark_is_read_for_its_resource_version_alone():
    line = b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"42"},"spec":{"containers":null}}}'
    assert resource_version_of(decode_event(line).object) == "42"


def test_an_answer_that_is_not_json_is_still_shown():
    assert decode_status(b"<html>bad gateway</html>").message == "<html>bad gateway</html>"


def test_bytes_that_are_no_text_are_an_unreadable_answer_and_no_crash():
    assert decode_status(b'{"message":"\xff"}').code == 0
    assert resource_version_of(b'{"metadata":{"resourceVersion":"\xff"}}') == ""


def test_json_that_nests_too_deeply_is_unreadable_and_no_crash():
    """Any tenant can write an annotation of 256 KB, and a proxy can answer anything."""
    deep = b'{"x":' + b"[" * 100_000
    with pytest.raises(MalformedObject):
        decode_pod(deep)
    with pytest.raises(MalformedValue):
        gather_rules(deep.decode())
    assert decode_status(deep).code == 0
    assert resource_version_of(deep) == ""


def test_null_where_go_writes_an_empty_list_as_null():
    node = b'{"metadata":{"name":"n"},"status":{"images":[{"names":null,"sizeBytes":1}]}}'
    assert Decoder("Node", Node)(node).status.images[0].names is None
    csi_node = b'{"metadata":{"name":"n"},"spec":{"drivers":null}}'
    assert Decoder("CSINode", CSINode)(csi_node).spec.drivers is None


def test_a_node_with_a_nameless_image_is_a_node():
    body = node_json("n1")
    body["status"]["images"] = [{"names": None, "sizeBytes": 1}]
    cluster = Cluster()
    cluster.upsert_node(typed(body, Node))
    assert len(cluster.nodes) == 1


@pytest.mark.parametrize("text", [b'{"items": null}', b'{"items": []}', b"{}"])
def test_a_list_of_nothing_has_no_items_however_it_is_said(text):
    assert decode_page(text).items == ()
