"""LeaderWorkerSet."""

import pytest

from koordpy.api.errors import MalformedValue
from tests.controllers.grouping.kinds.workloads import gang_of, gangs_of, minima, owner, parents, pod

LWS = "leaderworkerset.sigs.k8s.io"


def lws(size=4, *, policy=None, segment=None, startup="LeaderCreated"):
    template = {"size": size}
    if segment is not None:
        template["subGroupPolicy"] = {"subGroupSize": segment} | ({"subGroupPolicyType": policy} if policy else {})
    return owner("LeaderWorkerSet", {"leaderWorkerTemplate": template, "startupPolicy": startup})


def member(index, group=0, **given):
    return pod(
        f"p{group}-{index}", labels={f"{LWS}/group-index": str(group), f"{LWS}/worker-index": str(index)}, **given
    )


def test_each_group_is_a_gang_of_its_own():
    found = gangs_of(lws(), member(0, 0), member(1, 0), member(0, 1))
    assert [(gang.suffix, len(gang.pods), gang.minimum) for gang in found] == [("-group-0", 2, 4), ("-group-1", 1, 4)]
    assert minima(found[0]) == {"leader": 1, "workers": 3}
    assert found[0].subgroup_of == {"uid-p0-0": "leader", "uid-p0-1": "workers"}


def test_a_leader_that_has_to_be_ready_first_starts_alone():
    found = gang_of(lws(startup="LeaderReady"), member(0))
    assert (found.minimum, minima(found)) == (1, {"leader": 1})


def test_once_the_leader_has_a_node_the_whole_group_is_awaited():
    assert gang_of(lws(startup="LeaderReady"), member(0, bound=True)).minimum == 4


def test_a_leader_that_comes_back_starts_alone_again():
    assert gang_of(lws(startup="LeaderReady"), member(0), member(1, terminating=True)).minimum == 1


def test_segments_that_divide_the_workers_have_the_leader_on_top_of_the_first():
    found = gang_of(lws(5, segment=2), *(member(index) for index in range(5)))
    assert parents(found) == {"segment-0": 2}
    assert minima(found) == {"segment-0-leader": 1, "segment-0-workers": 2, "segment-1": 2}
    assert list(found.subgroup_of.values()) == ["segment-0-leader", *["segment-0-workers"] * 2, *["segment-1"] * 2]


def test_segments_that_do_not_have_the_leader_in_the_first():
    found = gang_of(lws(4, segment=2), *(member(index) for index in range(4)))
    assert minima(found) == {"segment-0-leader": 1, "segment-0-workers": 1, "segment-1": 2}
    assert list(found.subgroup_of.values()) == ["segment-0-leader", "segment-0-workers", "segment-1", "segment-1"]


def test_a_leader_may_be_outside_of_all_segments():
    found = gang_of(lws(5, segment=2, policy="LeaderExcluded"), *(member(index) for index in range(5)))
    assert minima(found) == {"leader": 1, "segment-0": 2, "segment-1": 2}
    assert list(found.subgroup_of.values()) == ["leader", "segment-0", "segment-0", "segment-1", "segment-1"]


@pytest.mark.parametrize(("size", "segment", "policy"), [(4, 2, "LeaderExcluded"), (4, 1, None), (4, 5, None)])
def test_segments_that_do_not_fit_are_named(size, segment, policy):
    with pytest.raises(MalformedValue, match="subGroupPolicy"):
        gang_of(lws(size, segment=segment, policy=policy), member(0))


@pytest.mark.parametrize("size", [0, None, "4"])
def test_a_size_that_is_none_is_named(size):
    with pytest.raises(MalformedValue, match=r"leaderWorkerTemplate\.size"):
        gang_of(lws(size), member(0))


def test_a_pod_without_its_group_is_not_understood():
    with pytest.raises(MalformedValue, match="group-index"):
        gang_of(lws(), pod("stray"))
