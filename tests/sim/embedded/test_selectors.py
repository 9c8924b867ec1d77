"""Label and field selectors, as predicates."""

import pytest

from koordpy.sim.embedded.errors import ApiError
from koordpy.sim.embedded.selectors import field_selector, labels_match, spec_selector


@pytest.mark.parametrize(
    ("selector", "matching", "other"),
    [
        ("a=1", {"a": "1"}, {"a": "2"}),
        ("a==1", {"a": "1"}, {}),
        ("a!=1", {}, {"a": "1"}),
        ("a in (1, 2)", {"a": "2"}, {"a": "3"}),
        ("a notin (1,2)", {}, {"a": "1"}),
        ("a", {"a": ""}, {"b": ""}),
        ("!a", {"b": "1"}, {"a": "1"}),
        ("a=1,b in (x),!c", {"a": "1", "b": "x"}, {"a": "1", "b": "x", "c": ""}),
        ("x.io/gang=g", {"x.io/gang": "g"}, {"gang": "g"}),
    ],
)
def test_a_label_selector_matches_as_it_says(selector, matching, other):
    matches = labels_match(selector)
    assert (matches(matching), matches(other)) == (True, False)


@pytest.mark.parametrize("selector", ["a in 1", "a in (1", "=1", "a=1=2"])
def test_a_label_selector_that_cannot_be_read_is_400(selector):
    with pytest.raises(ApiError) as refused:
        labels_match(selector)
    assert refused.value.code == 400


@pytest.mark.parametrize(
    ("selector", "matching", "other"),
    [
        ("spec.nodeName=n", {"spec": {"nodeName": "n"}}, {"spec": {}}),
        ("spec.nodeName=", {"spec": {}}, {"spec": {"nodeName": "n"}}),
        ("status.phase!=Failed", {"status": {"phase": "Running"}}, {"status": {"phase": "Failed"}}),
    ],
)
def test_a_field_selector_matches_as_it_says(selector, matching, other):
    matches = field_selector(selector, "Pod")
    assert (matches(matching), matches(other)) == (True, False)


def test_events_are_selected_by_either_name_of_their_subject():
    matches = field_selector("regarding.name=a", "Event")
    assert matches({"involvedObject": {"name": "a"}})


def test_a_field_that_cannot_be_selected_is_400_and_named():
    with pytest.raises(ApiError, match=r"spec\.colour"):
        field_selector("spec.colour=red", "Pod")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ({"key": "a", "operator": "In", "values": ["1"]}, True),
        ({"key": "a", "operator": "NotIn", "values": ["1"]}, False),
        ({"key": "a", "operator": "Exists"}, True),
        ({"key": "a", "operator": "DoesNotExist"}, False),
    ],
)
def test_a_selector_in_an_object_honours_its_expressions(expression, expected):
    assert spec_selector({"matchExpressions": [expression]})({"a": "1"}) is expected
