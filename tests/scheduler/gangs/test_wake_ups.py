"""A gang is woken by whatever could make it complete, and by nothing later."""

from __future__ import annotations

from tests.scheduler.gangs.rig import GangRig, saying


def test_a_gang_is_woken_for_any_of_the_members_that_could_make_it_complete():
    """One lacks room, the other asks for a pool that there is not; it needs one of the two."""
    rig = GangRig()
    rig.node("n1", cpu=1)
    rig.pod("old", cpu=1, on="n1")
    rig.gang("a", 1)
    rig.member("a-1", "a")
    rig.member("a-2", "a", node_selector={"pool": "none"})
    rig.settle()
    assert rig.nodes_of("a") == []
    rig.gone("old")
    rig.settle()
    assert rig.nodes_of("a") == ["n1"]


def test_surplus_members_are_woken_each_by_what_it_lacks():
    rig = GangRig()
    rig.node("n1", cpu=2)
    rig.pod("old", cpu=1, on="n1")
    rig.gang("a", 1, says=saying(policy="waiting-and-running"))
    rig.member("a-1", "a", on="n1")
    rig.member("a-2", "a")
    rig.member("a-3", "a", node_selector={"pool": "none"})
    rig.settle()
    assert rig.nodes_of("a") == ["n1"]
    rig.gone("old")
    rig.settle()
    assert rig.nodes_of("a") == ["n1", "n1"]


def test_a_gang_is_woken_for_min_resources_by_room_that_none_of_its_members_could_use():
    rig = GangRig()
    rig.node("n1", cpu=3)
    rig.node("n2", cpu=2)
    rig.gang("a", 2, cpu="6")
    rig.members("a", 2, cpu=2)
    rig.settle()
    assert rig.nodes_of("a") == []
    rig.node("n3", cpu=1)
    rig.settle()
    assert len(rig.nodes_of("a")) == 2


def test_a_gang_that_accumulates_is_woken_by_room_for_a_member_that_it_could_do_without():
    """It needs two of three, so one of the large ones at least; but it may hold the small one meanwhile."""
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=1)
    rig.pod("old", cpu=1, on="n1")
    rig.gang("a", 2, says=saying(mode="NonStrict"))
    rig.member("a-1", "a", cpu=1)
    rig.member("a-2", "a", cpu=2)
    rig.member("a-3", "a", cpu=2)
    rig.settle()
    assert rig.nodes_of("a") == []
    rig.gone("old")
    rig.settle()
    assert rig.nodes_of("a") == ["n1"]


def test_a_gang_is_woken_by_room_for_a_member_that_it_could_do_without():
    """Three of 2, 2, 2 and 1 CPU: the large ones have 4 CPUs, and a new node has room for the small one alone."""
    rig = GangRig()
    rig.node("n1", cpu=4)
    rig.gang("a", 3)
    for number, cpu in enumerate((2, 2, 2, 1), start=1):
        rig.member(f"a-{number}", "a", cpu=cpu)
    rig.settle()
    assert rig.nodes_of("a") == []
    rig.node("n2", cpu=1)
    rig.settle()
    assert sorted(rig.nodes_of("a")) == ["n1", "n1", "n2"]
