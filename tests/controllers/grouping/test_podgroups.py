"""What the PodGroup of a gang has to be like, and what is changed in one that is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from koordpy.api.grouping import Gang, SubGroup, Topology
from koordpy.api.meta import ObjectMeta
from koordpy.controllers.grouping.inherit import priority_class_of, queue_of
from koordpy.controllers.grouping.podgroups import (
    Dialect,
    RunAiPodGroup,
    Wanted,
    body_of,
    flattened,
    name_of,
    patch_of,
    with_others,
)
from tests.controllers.grouping.kinds.workloads import owner, pod

JOB = owner("Job")
GANG = Gang((pod("a"),), minimum=2)
NEW = Dialect()
GIVEN = "koordpy.io/queue-of-workload"


def wanted(gang: Gang = GANG, **given: Any) -> Wanted:
    return Wanted("default", "pg", JOB, gang, **given)


def found(spec: dict[str, Any], **annotations: str) -> RunAiPodGroup:
    said = {key.replace("__", "/").replace("_", "-"): value for key, value in annotations.items()}
    return RunAiPodGroup(ObjectMeta("pg", "default", annotations=said), spec)


def made(want: Wanted) -> RunAiPodGroup:
    """As the API server keeps what we create."""
    body = body_of(want, NEW)
    return RunAiPodGroup(ObjectMeta("pg", "default", annotations=body["metadata"]["annotations"]), body["spec"])


def test_what_was_just_created_needs_no_patch():
    parts = (
        SubGroup("a", 1, topology=Topology("t", "rack")),
        SubGroup("b", min_subgroup=1),
        SubGroup("c", 0, parent="b"),
    )
    everything = wanted(
        replace(GANG, subgroups=parts),
        queue="q",
        priority_class="train",
        preemptibility="preemptible",
        topology=Topology("t", "", "zone"),
        annotations={"koordpy.io/run-time": "1h"},
    )
    assert patch_of(everything, made(everything), NEW) == {}


def test_a_patch_names_only_what_differs():
    assert patch_of(wanted(), found({"minMember": 3, "queue": "theirs"}), NEW) == {"spec": {"minMember": 2}}


def test_parts_that_are_no_more_are_taken_away():
    assert patch_of(wanted(), found({"minMember": 2, "subGroups": [{"name": "a"}]}), NEW) == {
        "spec": {"subGroups": None}
    }


def test_what_the_workload_does_not_say_is_left_to_others():
    theirs = {"minMember": 2, "topologyConstraint": {"topology": "t"}, "priorityClassName": "x", "preemptibility": "y"}
    assert patch_of(wanted(), found(theirs), NEW) == {}


def test_a_queue_is_followed_while_it_is_the_one_that_was_given():
    ours = RunAiPodGroup(ObjectMeta("pg", annotations={GIVEN: "old"}), {"minMember": 2, "queue": "old"})
    assert patch_of(wanted(queue="new"), ours, NEW) == {
        "metadata": {"annotations": {GIVEN: "new"}},
        "spec": {"queue": "new"},
    }
    theirs = RunAiPodGroup(ObjectMeta("pg", annotations={GIVEN: "old"}), {"minMember": 2, "queue": "theirs"})
    assert patch_of(wanted(queue="new"), theirs, NEW) == {}


def test_a_queue_that_is_named_later_is_given_if_there_is_none():
    assert patch_of(wanted(queue="new"), found({"minMember": 2}), NEW)["spec"] == {"queue": "new"}


def test_a_name_is_never_too_long_and_keeps_its_uid():
    long = owner("Job", name="n" * 253, uid="0" * 36)
    name = name_of(long, "-group-7")
    assert len(name) == 253
    assert name.endswith(f"-{long.uid}-group-7")


def test_pods_that_no_part_knows_are_in_a_part_that_needs_nobody():
    gang = Gang((pod("a"), pod("b")), subgroups=(SubGroup("x", 1),), subgroup_of={"uid-a": "x", "uid-b": "unheard"})
    assert with_others(gang).subgroup_of == {"uid-a": "x", "uid-b": "others"}
    assert with_others(gang).subgroups[-1] == SubGroup("others", 0)


def test_a_pod_in_a_part_that_has_parts_is_in_none_of_them():
    parts = (SubGroup("top", min_subgroup=1), SubGroup("leaf", 1, parent="top"))
    gang = Gang((pod("a"),), subgroups=parts, subgroup_of={"uid-a": "top"})
    assert with_others(gang).subgroup_of == {"uid-a": "others"}


def test_a_gang_without_parts_gets_none():
    assert with_others(GANG) == GANG


def test_without_nesting_the_minimum_stays_if_there_is_one():
    parts = (SubGroup("top", min_subgroup=1), SubGroup("leaf", 1, parent="top"))
    flat = flattened(Gang((pod("a"),), minimum=5, subgroups=parts, subgroup_of={"uid-a": "leaf"}))
    assert (flat.minimum, flat.subgroups) == (5, (SubGroup("leaf", 1),))


def test_the_queue_of_the_owner_counts_more_than_that_of_its_pods():
    queued = owner("Job", labels={"kai.scheduler/queue": "job"})
    assert queue_of([queued], [pod("a", labels={"kai.scheduler/queue": "pod"})]) == "job"
    assert queue_of([JOB], [pod("a", labels={"kai.scheduler/queue": "pod"})]) == "pod"
    assert queue_of([JOB], [pod("a")]) == ""


def test_of_the_priority_classes_the_first_that_exists_counts():
    low, high = owner("Job", labels={"priorityClassName": "low"}), owner("JobSet", labels={"priorityClassName": "high"})
    gang = Gang((pod("a", labels={"priorityClassName": "label"})._replace(priority_class="own"),))
    order = ["low", "high", "label", "own", "train"]
    for number, name in enumerate(order):
        assert priority_class_of(gang, [low, high], set(order[number:])) == name
    assert priority_class_of(gang, [low, high], set()) == ""
