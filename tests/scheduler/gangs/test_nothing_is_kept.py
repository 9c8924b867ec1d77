"""Gangs come and go, and nothing is kept of those that are gone."""

from __future__ import annotations

from tests.scheduler.gangs.rig import GangRig, saying

MANY = 300
FEW = 30


def test_gangs_that_were_refused_and_deleted_leave_nothing_behind():
    rig = GangRig()
    rig.node("n1", cpu=1)
    for number in range(MANY):
        gang = f"g{number}"
        rig.gang(gang, 2)
        rig.members(gang, 2)
        rig.settle()
        rig.no_gang(gang)
        for member in ("1", "2"):
            rig.gone(f"{gang}-{member}")
        rig.lanes.reports.clear()
    kept = (rig.cluster.gangs, rig.jobs._groups, rig.jobs._freed, rig.queue._tickets, rig.queue._unschedulable)
    assert [len(each) for each in (*kept, rig.throttle._said)] == [0] * 6


def test_gangs_that_ran_and_were_deleted_leave_nothing_behind():
    rig = GangRig()
    rig.node("n1", cpu=MANY)
    for number in range(MANY):
        name, says = f"g{number}-1", saying(f"g{number}", 1)
        rig.member(name, says=says)
        rig.member(name, says=says, on="n1")
        rig.member(name, says=says, on="n1", phase="Failed" if number % 2 else "Succeeded")
        rig.gone(name)
    kept = (rig.cluster.gangs, rig.jobs._groups, rig.jobs._freed, rig.queue._tickets, rig.cluster.gangs._finished)
    assert [len(each) for each in kept] == [0] * 5


def test_members_that_are_replaced_do_not_pile_up_behind_one_that_stays():
    rig = GangRig()
    rig.node("n1", cpu=8)
    for number in range(MANY):
        rig.member(f"a-{number}", says=saying("a", 1), on="n1", created=f"2026-01-01T00:00:{number % 60:02}Z")
        if number:
            rig.gone(f"a-{number}")
    gang = rig.cluster.gangs.get("default/a")
    assert gang is not None
    assert [len(each._ages) < FEW for each in gang._declared.values()] == [True]


def test_a_gang_made_again_under_the_same_name_is_told_anew():
    rig = GangRig()
    rig.node("n1", cpu=1)
    told = []
    for _ in range(2):
        rig.gang("a", 2)
        rig.members("a", 2)
        rig.lanes.reports.clear()
        rig.settle()
        told.append(len(rig.lanes.reports))
        rig.no_gang("a")
        rig.gone("a-1")
        rig.gone("a-2")
    assert told[0] == told[1] > 0
