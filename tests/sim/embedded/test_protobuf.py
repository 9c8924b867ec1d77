"""Reading Kubernetes' protobuf: against the data with which Kubernetes tests itself, and on its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from koordpy.sim.embedded import protobuf
from koordpy.sim.embedded.errors import ApiError
from koordpy.sim.embedded.resources import builtin_resources
from tests.api_behaviour.test_protobuf import envelope, field
from tests.sim.embedded.protobuf_table import TABLE, module, table

KINDS = sorted(
    {
        f"{resource.group or 'core'}.{resource.version}.{resource.kind}"
        for resource in builtin_resources().by_path.values()
        if resource.group != "apiextensions.k8s.io"
    }
    | {"policy.v1.Eviction", "autoscaling.v1.Scale", "authentication.k8s.io.v1.TokenRequest"}
)


@pytest.fixture(scope="module")
def samples() -> Path:
    """An object of each kind with every field set, in JSON and in protobuf, as Kubernetes publishes them."""
    return module("k8s.io/api") / "testdata" / "HEAD"


@pytest.mark.real
@pytest.mark.parametrize("kind", KINDS)
def test_an_object_is_the_same_from_protobuf_and_from_json(samples: Path, kind: str):
    decoded = protobuf.decode((samples / f"{kind}.pb").read_bytes())
    assert decoded == without_nulls(json.loads((samples / f"{kind}.json").read_text()))


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@pytest.mark.real
def test_the_table_is_what_the_go_types_say():
    assert TABLE.read_text("utf-8") == table(), "run: python -m tests.sim.embedded.protobuf_table"


def varint(number: int, value: int) -> bytes:
    encoded, value = bytes([number << 3]), value % 2**64
    while value > 127:
        encoded, value = encoded + bytes([value & 127 | 128]), value >> 7
    return encoded + bytes([value])


def test_numbers_may_be_negative():
    decoded = protobuf.decode(envelope("scheduling.k8s.io/v1", "PriorityClass", varint(2, -5)))
    assert decoded["value"] == -5


def test_an_empty_text_that_json_leaves_out_is_left_out():
    decoded = protobuf.decode(envelope("v1", "Pod", field(1, field(1, "a") + field(3, ""))))
    assert decoded["metadata"] == {"name": "a"}


def test_a_zero_that_was_set_on_purpose_is_kept():
    decoded = protobuf.decode(envelope("apps/v1", "Deployment", field(2, varint(1, 0))))
    assert decoded["spec"] == {"replicas": 0}


def test_a_field_of_a_newer_version_is_dropped():
    decoded = protobuf.decode(envelope("v1", "ConfigMap", field(15, "new") + field(1, field(1, "a"))))
    assert decoded == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def test_options_of_a_request_are_known_in_every_group():
    decoded = protobuf.decode(envelope("apps/v1", "DeleteOptions", field(4, "Background")))
    assert decoded["propagationPolicy"] == "Background"


def test_a_kind_that_is_not_known_is_refused_by_name():
    with pytest.raises(ApiError) as refused:
        protobuf.decode(envelope("x.test/v1", "Gadget", b""))
    assert refused.value.code == 415
    assert "reads no Gadget of x.test/v1 from protobuf" in refused.value.message
