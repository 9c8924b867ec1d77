"""Which version of an object is newer."""

import pytest

from koordpy.api.meta import ObjectMeta
from koordpy.controllers.runtime.versions import is_newer


def version(number: str, uid: str = "u") -> ObjectMeta:
    return ObjectMeta("g", uid=uid, resource_version=number)


@pytest.mark.parametrize(
    ("seen", "newer"),
    [
        (version("11"), True),
        (version("10"), False),
        (version("9"), False),
        (version("9", uid="another"), True),  # made again, on an API server whose data was restored
    ],
)
def test_versions_are_compared_as_numbers_within_one_object(seen, newer):
    assert is_newer(seen, version("10")) is newer


def test_an_object_that_is_not_known_is_newer():
    assert is_newer(version("1"), None)


@pytest.mark.parametrize(("seen", "newer"), [(version("a"), False), (version("b"), True)])
def test_versions_that_are_no_numbers_are_newer_when_they_differ(seen, newer):
    assert is_newer(seen, version("a")) is newer
