"""Gangs by KAI's PodGroups: membership, subgroups, priorities, and minima that are raised."""

from __future__ import annotations

from koordpy.state.gangs.gang import Gang
from tests.scheduler.frontends.rig import FrontEndRig, in_subgroup, of_kai

MASTER_AND_WORKERS = [{"name": "master", "minMember": 1}, {"name": "worker", "minMember": 2}]


def rig_with(cpu: int) -> FrontEndRig:
    rig = FrontEndRig()
    rig.node("n", cpu=cpu)
    return rig


def train(rig: FrontEndRig, workers: int = 2, **given: int) -> None:
    rig.member("m", says=of_kai("train"), labels=in_subgroup("master"), **given)
    for number in range(workers):
        rig.member(f"w-{number}", says=of_kai("train"), labels=in_subgroup("worker"), **given)


def test_members_start_together():
    rig = rig_with(cpu=8)
    rig.kai("a", minMember=2)
    rig.member("a-1", says=of_kai("a"))
    rig.settle()
    assert rig.placed() == []
    assert rig.message("a-1") == "gang default/a is incomplete: 1 of 2 members"
    rig.member("a-2", says=of_kai("a"))
    rig.settle()
    assert rig.placed() == ["a-1", "a-2"]


def test_pods_wait_for_their_pod_group():
    rig = rig_with(cpu=8)
    rig.member("a-1", says=of_kai("a"))
    rig.settle()
    assert rig.message("a-1") == "gang default/a waits for PodGroup default/a, which does not exist"
    rig.kai("a", minMember=1)
    rig.settle()
    assert rig.placed() == ["a-1"]


def test_a_pod_group_of_the_same_name_in_another_front_end_is_another_gang():
    rig = rig_with(cpu=8)
    rig.gang("a", 1)
    rig.kai("a", minMember=2)
    rig.member("c-1", "a")
    rig.member("k-1", says=of_kai("a"))
    rig.settle()
    assert rig.placed() == ["c-1"]


def test_a_label_of_coscheduling_comes_before_the_annotation_of_kai():
    rig = rig_with(cpu=8)
    rig.gang("a", 1)
    rig.kai("b", minMember=2)
    rig.member("p", "a", says=of_kai("b"))
    rig.settle()
    assert rig.placed() == ["p"]


def test_koordinators_annotations_count_on_its_objects():
    rig = rig_with(cpu=8)
    rig.kai("a", minMember=2, says={"gang.scheduling.koordinator.sh/min-available": "1"})
    rig.member("a-1", says=of_kai("a"))
    rig.settle()
    assert rig.placed() == ["a-1"]


def test_groups_name_gangs_of_the_same_front_end():
    rig = rig_with(cpu=8)
    groups = {"gang.scheduling.koordinator.sh/groups": '["default/a", "default/b"]'}
    rig.gang("b", 1)
    rig.member("c-1", "b")
    rig.kai("a", minMember=1, says=groups)
    rig.member("a-1", says=of_kai("a"))
    rig.settle()
    assert rig.placed() == ["c-1"]
    rig.kai("b", minMember=1, says=groups)
    rig.member("b-1", says=of_kai("b"))
    rig.settle()
    assert rig.placed() == ["a-1", "b-1", "c-1"]


def test_missing_members_of_a_raised_minimum_start_together_or_not_at_all():
    rig = rig_with(cpu=2)
    rig.kai("a", minMember=1)
    rig.member("a-1", on="n", says=of_kai("a"))
    rig.kai("a", minMember=3)
    rig.member("a-2", says=of_kai("a"))
    rig.member("a-3", says=of_kai("a"))
    rig.settle()
    assert rig.placed() == ["a-1"]
    rig.node("more", cpu=1)
    rig.settle()
    assert rig.placed() == ["a-1", "a-2", "a-3"]


def test_a_pod_group_that_is_fully_elastic_starts_what_fits():
    rig = rig_with(cpu=1)
    rig.kai("a", minMember=0)
    rig.member("a-1", says=of_kai("a"))
    rig.member("a-2", says=of_kai("a"))
    rig.settle()
    assert len(rig.placed()) == 1


# --- subgroups ---


def test_every_subgroup_needs_its_minimum():
    rig = rig_with(cpu=8)
    rig.kai("train", minMember=3, subGroups=MASTER_AND_WORKERS)
    for number in range(3):
        rig.member(f"w-{number}", says=of_kai("train"), labels=in_subgroup("worker"))
    rig.settle()
    assert rig.placed() == []
    assert rig.message("w-0") == (
        "gang default/train is incomplete: 3 of 3 members; subgroup master has 0 of 1 members"
    )
    rig.member("m", says=of_kai("train"), labels=in_subgroup("master"))
    rig.settle()
    assert rig.placed() == ["m", "w-0", "w-1", "w-2"]


def test_nothing_starts_while_one_subgroup_does_not_fit():
    rig = rig_with(cpu=3)
    rig.kai("train", minMember=3, subGroups=MASTER_AND_WORKERS)
    rig.member("m", says=of_kai("train"), labels=in_subgroup("master"), cpu=2)
    for number in range(2):
        rig.member(f"w-{number}", says=of_kai("train"), labels=in_subgroup("worker"))
    rig.settle()
    assert rig.placed() == []
    assert "gang default/train, subgroup worker: 1 of 2 members fit" in rig.message("m")


def test_surplus_of_one_subgroup_does_not_stand_in_for_another():
    rig = rig_with(cpu=3)
    rig.kai("train", minMember=3, subGroups=MASTER_AND_WORKERS)
    train(rig, workers=5)
    rig.settle()
    assert "m" in rig.placed()
    assert len(rig.placed()) == 3


def test_all_together_need_the_minimum_of_the_pod_group():
    rig = rig_with(cpu=4)
    rig.kai("train", minMember=5, subGroups=MASTER_AND_WORKERS)
    train(rig, workers=4)
    rig.settle()
    assert rig.placed() == []
    assert "gang default/train, beyond its subgroups: 1 of 2 members fit" in rig.message("m")
    rig.node("more", cpu=1)
    rig.settle()
    assert rig.placed() == ["m", "w-0", "w-1", "w-2", "w-3"]


def test_never_is_said_of_the_gang_whose_subgroup_needs_the_large_pod_and_of_no_other():
    rig = rig_with(cpu=4)
    rig.member("filler", cpu=4, on="n", scheduler="other")
    for gang, parts in {"never": "abbb", "later": "babb"}.items():
        rig.kai(gang, minMember=3, subGroups=[{"name": "a", "minMember": 1}, {"name": "b", "minMember": 2}])
        for number, part in enumerate(parts):
            cpu = 8 if number == 0 else 1
            rig.member(f"{gang}-{number}", says=of_kai(gang), labels=in_subgroup(part), cpu=cpu)
    rig.settle()
    assert "even on an empty cluster" in rig.message("never-0")
    assert "even on an empty cluster" not in rig.message("later-0")


def test_a_member_of_an_unknown_subgroup_waits_alone_and_says_so():
    rig = rig_with(cpu=8)
    rig.kai("train", minMember=3, subGroups=MASTER_AND_WORKERS)
    train(rig)
    rig.member("ps", says=of_kai("train"), labels=in_subgroup("ps"))
    rig.member("none", says=of_kai("train"))
    rig.settle()
    assert rig.placed() == ["m", "w-0", "w-1"]
    known = "PodGroup default/train has the subgroups master, worker"
    assert rig.message("ps") == f"the pod names the subgroup ps, and {known}"
    assert rig.message("none") == f"the pod names no subgroup, and {known}"


def test_a_member_whose_subgroup_comes_later_is_not_forgotten():
    rig = rig_with(cpu=8)
    rig.kai("train", minMember=3, subGroups=MASTER_AND_WORKERS)
    train(rig)
    rig.member("ps", says=of_kai("train"), labels=in_subgroup("ps"))
    rig.settle()
    rig.kai("train", minMember=3, subGroups=[*MASTER_AND_WORKERS, {"name": "ps", "minMember": 1}])
    rig.settle()
    assert rig.placed() == ["m", "ps", "w-0", "w-1"]


def test_a_member_that_moves_to_the_subgroup_that_lacks_one_wakes_its_gang():
    rig = rig_with(cpu=8)
    rig.kai("train", minMember=2, subGroups=[{"name": "a", "minMember": 1}, {"name": "b", "minMember": 1}])
    rig.member("p-1", says=of_kai("train"), labels=in_subgroup("a"))
    rig.member("p-2", says=of_kai("train"), labels=in_subgroup("a"))
    rig.settle()
    assert rig.placed() == []
    rig.member("p-2", says=of_kai("train"), labels=in_subgroup("b"))
    rig.settle()
    assert rig.placed() == ["p-1", "p-2"]


def test_what_a_half_bound_gang_lacks_of_a_subgroup_goes_before_everything_else():
    rig = rig_with(cpu=4)
    once = {"gang.scheduling.koordinator.sh/match-policy": "once-satisfied"}
    rig.kai("train", minMember=3, subGroups=MASTER_AND_WORKERS, says=once)
    for number in range(3):
        rig.member(f"w-{number}", on="n", says=of_kai("train"), labels=in_subgroup("worker"))
    rig.member("single", priority=10)
    rig.member("m", says=of_kai("train"), labels=in_subgroup("master"))
    rig.scheduler.start_over()
    rig.settle()
    assert rig.placed() == ["m", "w-0", "w-1", "w-2"]


def accumulating(rig: FrontEndRig) -> Gang:
    """A NonStrict gang of 4, of which each subgroup needs one, and a node that may become free."""
    nonstrict = {"gang.scheduling.koordinator.sh/mode": "NonStrict"}
    rig.node("busy", cpu=8)
    rig.member("busy", cpu=8, on="busy", scheduler="other")
    parts = [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 1}]
    rig.kai("train", minMember=4, subGroups=parts, says=nonstrict)
    for number, part in enumerate("abbb"):
        rig.member(f"p-{number}", says=of_kai("train"), labels=in_subgroup(part))
    rig.settle()
    return rig.cluster.gangs.get("default/train@kai")


def test_a_gang_that_accumulates_in_subgroups_is_not_taken_for_one_that_is_in_its_own_way():
    rig = rig_with(cpu=3)
    gang = accumulating(rig)
    assert len(gang.waiting) == 3
    rig.node("tainted", cpu=1, taints=[{"key": "k", "effect": "NoSchedule"}])
    rig.settle()
    assert len(gang.waiting) == 3


def test_a_gang_that_accumulates_in_subgroups_is_woken_by_room_for_one_of_them():
    rig = rig_with(cpu=1)
    rig.member("filler", cpu=1, on="n", scheduler="other")
    gang = accumulating(rig)
    assert not gang.waiting
    rig.gone("filler")
    rig.settle()
    assert len(gang.waiting) == 1


def test_so_many_children_of_a_parent_have_to_start():
    rig = rig_with(cpu=2)
    slices = [{"name": f"s{i}", "parent": "jobs", "minMember": 2} for i in range(2)]
    rig.kai("set", minSubGroup=1, subGroups=[{"name": "jobs", "minSubGroup": 1}, *slices])
    for name in ("s0", "s1"):
        for number in range(2):
            rig.member(f"{name}-{number}", says=of_kai("set"), labels=in_subgroup(name))
    rig.settle()
    assert rig.placed() == ["s0-0", "s0-1"]


def test_a_child_that_a_parent_can_do_without_starts_whole():
    rig = rig_with(cpu=3)
    slices = [{"name": f"s{i}", "parent": "jobs", "minMember": 2} for i in range(2)]
    rig.kai("set", minSubGroup=1, subGroups=[{"name": "jobs", "minSubGroup": 1}, *slices])
    for name in ("s0", "s1"):
        for number in range(2):
            rig.member(f"{name}-{number}", says=of_kai("set"), labels=in_subgroup(name))
    rig.settle()
    assert rig.placed() == ["s0-0", "s0-1"]
    rig.node("more", cpu=1)
    rig.settle()
    assert rig.placed() == ["s0-0", "s0-1", "s1-0", "s1-1"]


def test_the_pods_of_a_later_child_start_together_after_the_first_has_started():
    rig = rig_with(cpu=3)
    slices = [{"name": f"s{i}", "minMember": 2} for i in range(2)]
    rig.kai("set", minSubGroup=1, subGroups=slices)
    for number in range(2):
        rig.member(f"s0-{number}", on="n", says=of_kai("set"), labels=in_subgroup("s0"))
    rig.member("s1-0", says=of_kai("set"), labels=in_subgroup("s1"))
    rig.settle()
    assert rig.placed() == ["s0-0", "s0-1"]
    rig.node("more", cpu=1)
    rig.member("s1-1", says=of_kai("set"), labels=in_subgroup("s1"))
    rig.settle()
    assert rig.placed() == ["s0-0", "s0-1", "s1-0", "s1-1"]


# --- priorities ---


def test_the_class_of_a_pod_group_orders_its_job():
    rig = rig_with(cpu=1)
    rig.priority_class("train", 50)
    rig.kai("a", minMember=1)
    rig.member("a-1", says=of_kai("a"), priority=10)
    rig.kai("b", minMember=1, priorityClassName="train")
    rig.member("b-1", says=of_kai("b"), priority=0)
    rig.settle()
    assert rig.placed() == ["b-1"]


def test_a_class_that_does_not_exist_leaves_the_pods_their_own_priority():
    rig = rig_with(cpu=1)
    rig.kai("b", minMember=1, priorityClassName="nowhere")
    rig.member("b-1", says=of_kai("b"), priority=0)
    rig.kai("a", minMember=1)
    rig.member("a-1", says=of_kai("a"), priority=10)
    rig.settle()
    assert rig.placed() == ["a-1"]
    warnings = rig.cluster.gangs.get("default/b@kai").spec.warnings
    assert warnings == (
        'spec.priorityClassName: "nowhere" is no PriorityClass; the pods\' own priority is used instead',
    )


def test_a_class_that_comes_later_orders_the_job_from_then_on():
    rig = rig_with(cpu=1)
    rig.member("filler", cpu=1, on="n", scheduler="other")
    rig.kai("a", minMember=1)
    rig.member("a-1", says=of_kai("a"), priority=10)
    rig.kai("b", minMember=1, priorityClassName="train")
    rig.member("b-1", says=of_kai("b"), priority=0)
    rig.settle()
    rig.priority_class("train", 50)
    rig.gone("filler")
    rig.settle()
    assert rig.placed() == ["b-1"]
