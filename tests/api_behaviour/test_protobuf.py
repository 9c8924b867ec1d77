"""Requests in Kubernetes' protobuf, which kubectl and Go clients send for built-in kinds."""

import pytest

from tests.controlplane.client import Client, Reply

PROTOBUF = "application/vnd.kubernetes.protobuf"


def field(number: int, content: bytes | str) -> bytes:
    """A field of bytes, text or a message, shorter than 128 bytes."""
    content = content.encode() if isinstance(content, str) else content
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def envelope(api_version: str, kind: str, content: bytes) -> bytes:
    return b"k8s\x00" + field(1, field(1, api_version) + field(2, kind)) + field(2, content)


def config_map(name: str, key: str, value: str) -> bytes:
    return envelope("v1", "ConfigMap", field(1, field(1, name)) + field(2, field(1, key) + field(2, value)))


async def send(api: Client, method: str, path: str, body: bytes) -> Reply:
    return await api.request(method, path, body, headers={"Content-Type": PROTOBUF, "Accept": "application/json"})


async def test_an_object_in_protobuf_is_stored_as_one_in_json(api: Client):
    made = (await send(api, "POST", api.path("configmaps"), config_map("a", "x", "y"))).ok()
    assert made["data"] == {"x": "y"}
    assert (await api.get("configmaps", "a")).ok()["data"] == {"x": "y"}


async def test_an_object_can_be_replaced_in_protobuf(api: Client):
    (await api.create("configmaps", {"metadata": {"name": "a"}, "data": {"x": "y"}})).ok()
    made = (await send(api, "PUT", api.path("configmaps", "a"), config_map("a", "z", "1"))).ok()
    assert made["data"] == {"z": "1"}


async def test_the_options_of_a_deletion_come_in_protobuf(api: Client):
    (await api.create("configmaps", {"metadata": {"name": "a"}})).ok()
    wrong_uid = envelope("v1", "DeleteOptions", field(2, field(1, "another")))
    (await send(api, "DELETE", api.path("configmaps", "a"), wrong_uid)).refused(409, "Conflict")


@pytest.mark.parametrize("body", [b"", b"{}", b"k8s\x00\xff\xff", config_map("a", "x", "y")[:-3]])
async def test_what_is_no_protobuf_is_refused(api: Client, body: bytes):
    (await send(api, "POST", api.path("configmaps"), body)).refused(400, "BadRequest")
    (await api.get("configmaps", "a")).refused(404, "NotFound")
