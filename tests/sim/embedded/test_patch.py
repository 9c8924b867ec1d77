"""The three kinds of patch, as functions."""

import pytest

from koordpy.sim.embedded.errors import ApiError
from koordpy.sim.embedded.patch import json_patch, merge_patch
from koordpy.sim.embedded.strategic import strategic_merge


def test_a_null_in_a_merge_patch_removes_the_field():
    assert merge_patch({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"c": None}}) == {"b": {"d": 3}}


def test_a_list_in_a_merge_patch_replaces_the_list():
    assert merge_patch({"a": [1, 2]}, {"a": [3]}) == {"a": [3]}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/list/1", "value": "x"}, {"list": ["a", "x", "b"], "m": {"k/1": 1}}),
        ({"op": "add", "path": "/list/-", "value": "x"}, {"list": ["a", "b", "x"], "m": {"k/1": 1}}),
        ({"op": "replace", "path": "/list/0", "value": "x"}, {"list": ["x", "b"], "m": {"k/1": 1}}),
        ({"op": "remove", "path": "/m/k~11"}, {"list": ["a", "b"], "m": {}}),
        ({"op": "move", "from": "/list/0", "path": "/m/moved"}, {"list": ["b"], "m": {"k/1": 1, "moved": "a"}}),
        ({"op": "copy", "from": "/list/0", "path": "/m/copied"}, {"list": ["a", "b"], "m": {"k/1": 1, "copied": "a"}}),
        ({"op": "test", "path": "/list/0", "value": "a"}, {"list": ["a", "b"], "m": {"k/1": 1}}),
    ],
    ids=lambda value: value.get("op") if isinstance(value, dict) else None,
)
def test_a_json_patch_does_what_its_operation_says(operation, expected):
    assert json_patch({"list": ["a", "b"], "m": {"k/1": 1}}, [operation]) == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "remove", "path": "/absent"},
        {"op": "replace", "path": "/absent", "value": 1},
        {"op": "add", "path": "/list/9", "value": 1},
        {"op": "invent", "path": "/a"},
        {"path": "/a"},
        {"op": "remove", "path": ""},
    ],
)
def test_a_json_patch_that_cannot_be_applied_is_refused_with_422(operation):
    with pytest.raises(ApiError) as refused:
        json_patch({"a": 1, "list": []}, [operation])
    assert refused.value.code == 422


def test_a_strategic_patch_merges_containers_by_name():
    target = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}
    change = {"containers": [{"name": "b", "image": "2"}, {"name": "c", "image": "1"}]}
    images = {c["name"]: c["image"] for c in strategic_merge(target, change)["containers"]}
    assert images == {"a": "1", "b": "2", "c": "1"}


def test_a_strategic_patch_can_delete_one_element():
    target = {"volumes": [{"name": "a"}, {"name": "b"}]}
    assert strategic_merge(target, {"volumes": [{"name": "a", "$patch": "delete"}]}) == {"volumes": [{"name": "b"}]}


def test_a_strategic_patch_puts_elements_in_the_order_it_names():
    target = {"containers": [{"name": "a"}, {"name": "b"}]}
    order = {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}
    assert strategic_merge(target, order)["containers"] == [{"name": "b"}, {"name": "a"}]


def test_a_strategic_patch_adds_finalizers_to_those_present():
    assert strategic_merge({"finalizers": ["a"]}, {"finalizers": ["b", "a"]}) == {"finalizers": ["a", "b"]}


def test_a_strategic_patch_keeps_only_the_keys_it_retains():
    assert strategic_merge({"a": 1, "b": 2}, {"$retainKeys": ["b"], "b": 3}) == {"b": 3}


def test_an_element_without_its_merge_key_is_refused_and_names_the_list():
    with pytest.raises(ApiError, match="containers"):
        strategic_merge({}, {"containers": [{"image": "x"}]})
