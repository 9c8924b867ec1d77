"""Whatever stands in a file, it is read, or refused with lines that name a place: never with a traceback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from koordpy.api.strict import Misread
from koordpy.app.configfile import settings_of
from koordpy.app.migrate.migration import migrate
from tests.configs import HEAD

NAMES = (
    "profiles", "plugins", "pluginConfig", "schedulerName", "filter", "score", "multiPoint", "postFilter", "enabled",
    "disabled", "name", "weight", "args", "leaderElection", "leaseDuration", "resourceName", "clientConnection",
    "kubeconfig", "koordpy", "preemption", "scoringStrategy", "type", "resources", "defaultTimeout",
    "bindTimeoutSeconds", "podMaxBackoffSeconds", "extenders", "parallelism", "nobody.knows",
)  # fmt: skip
WORDS = ("NodeResourcesFit", "Coscheduling", "VolumeBinding", "Reservation", "MostAllocated", "Never", "10s", "*", "x")
SCALARS = st.none() | st.booleans() | st.integers(-2, 200) | st.floats(0, 2) | st.sampled_from(["", *WORDS])


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)


DOCUMENTS = st.dictionaries(st.sampled_from(NAMES), st.recursive(SCALARS, nested, max_leaves=12), max_size=4)


def refused(call: Callable[[], object]) -> tuple[str, ...]:
    """The lines of a refusal; none if there was none."""
    try:
        call()
    except Misread as error:
        return error.lines
    return ()


def are_readable(lines: tuple[str, ...]) -> bool:
    return all(": " in line and "\n" not in line for line in lines) and len(set(lines)) == len(lines)


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS)
@example({"profiles": [{"pluginConfig": [{"name": None}]}]})
@example({"profiles": [{"plugins": {"filter": {"enabled": [{"name": 1}]}}}]})
def test_a_file_is_read_or_refused(document):
    assert are_readable(refused(lambda: settings_of(yaml.safe_dump(HEAD | document))))


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS)
@example({"profiles": [{"pluginConfig": [{"name": None}]}]})
@example({"clientConnection": {"kubeconfig": None}})
def test_a_file_is_migrated_into_one_that_can_be_read_or_refused(document):
    assert are_readable(refused(lambda: migrate(yaml.safe_dump(HEAD | document))))
