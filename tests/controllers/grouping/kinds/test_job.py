"""Job."""

import pytest

from koordpy.api.errors import MalformedValue
from tests.controllers.grouping.kinds.workloads import gang_of, owner, pod

MINIMUM = "kai.scheduler/batch-min-member"


def test_pods_of_a_job_start_one_by_one_whatever_its_parallelism():
    assert gang_of(owner("Job", {"parallelism": 4, "completions": 5}), pod("a")).minimum == 1


def test_the_annotation_says_how_many_start_together():
    assert gang_of(owner("Job", annotations={MINIMUM: "8"}), pod("a")).minimum == 8


@pytest.mark.parametrize("value", ["eight", "", "0", "-1", "1.5", "99999999999999999999"])
def test_an_annotation_that_is_no_minimum_is_named(value):
    with pytest.raises(MalformedValue, match=MINIMUM):
        gang_of(owner("Job", annotations={MINIMUM: value}), pod("a"))
