"""Structural schemas: pruning, defaults, checks."""

import pytest

from koordpy.sim.embedded.schema import fill_defaults, prune, schema_errors


def _schema(**spec: object) -> dict[str, object]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}


def _messages(value: object, **rules: object) -> list[str]:
    found = schema_errors({"spec": {"x": value}}, _schema(x=rules))
    return [f"{error.field}: {error.message}" for error in found]


def test_unknown_fields_are_dropped_at_every_depth_and_named():
    obj = {"metadata": {"any": 1}, "spec": {"known": 1, "odd": 2, "list": [{"odd": 3}]}, "odd": 4}
    items = {"type": "array", "items": {"type": "object", "properties": {}}}
    assert sorted(prune(obj, _schema(known={"type": "integer"}, list=items))) == ["odd", "spec.list[0].odd", "spec.odd"]
    assert obj == {"metadata": {"any": 1}, "spec": {"known": 1, "list": [{}]}}


def test_a_schema_can_keep_what_it_does_not_know():
    obj = {"spec": {"free": {"odd": 1}}}
    prune(obj, _schema(free={"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    assert obj == {"spec": {"free": {"odd": 1}}}


def test_a_map_keeps_its_keys():
    obj = {"spec": {"m": {"a": "1"}}}
    prune(obj, _schema(m={"type": "object", "additionalProperties": {"type": "string"}}))
    assert obj == {"spec": {"m": {"a": "1"}}}


def test_a_default_is_filled_in_where_the_field_is_absent_or_null():
    schema = _schema(a={"default": "x"}, b={"default": "y"}, c={"default": "z"})
    obj = {"spec": {"b": None, "c": "given"}}
    fill_defaults(obj, schema)
    assert obj["spec"] == {"a": "x", "b": "y", "c": "given"}


def test_a_default_is_not_shared_between_objects():
    schema = _schema(a={"default": {"list": []}})
    first, second = {"spec": {}}, {"spec": {}}
    fill_defaults(first, schema)
    first["spec"]["a"]["list"].append(1)
    fill_defaults(second, schema)
    assert second["spec"]["a"] == {"list": []}


@pytest.mark.parametrize(
    ("value", "rules", "message"),
    [
        ("1", {"type": "integer"}, 'spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"'),
        (
            True,
            {"type": "integer"},
            'spec.x: Invalid value: "boolean": spec.x in body must be of type integer: "boolean"',
        ),
        (None, {"type": "string"}, 'spec.x: Invalid value: "null": spec.x in body must be of type string: "null"'),
        (0, {"minimum": 1}, "spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1"),
        (9, {"maximum": 8}, "spec.x: Invalid value: 9: spec.x in body should be less than or equal to 8"),
        ("c", {"enum": ["a", "b"]}, 'spec.x: Unsupported value: "c": supported values: "a", "b"'),
        ("", {"minLength": 1}, 'spec.x: Invalid value: "": spec.x in body should be at least 1 chars long'),
        ("A", {"pattern": "^[a-z]+$"}, "spec.x: Invalid value: \"A\": spec.x in body should match '^[a-z]+$'"),
        ({}, {"required": ["y"]}, "spec.x.y: Required value"),
        ([], {"minItems": 1}, "spec.x: Invalid value: 0: spec.x in body should have at least 1 items"),
        ([1, 2], {"maxItems": 1}, "spec.x: Too many: 2: must have at most 1 items"),
    ],
)
def test_a_broken_rule_is_named_in_the_words_of_the_real_server(value, rules, message):
    assert _messages(value, **rules) == [message]


@pytest.mark.parametrize("value", [1, "25%"])
def test_an_int_or_string_takes_both(value):
    assert _messages(value, **{"x-kubernetes-int-or-string": True}) == []


def test_a_nullable_field_takes_null():
    assert _messages(None, type="string", nullable=True) == []
