"""What comes and goes leaves nothing behind: memory follows what is there now, not what has ever been.

Each test lets many objects come and go and counts what is kept. A few dead entries may wait for the next sweep.
"""

from __future__ import annotations

from tests.scheduler.wakeups.rig import Rig

HOST = "kubernetes.io/hostname"
MANY = 1000
FEW = 100


def test_a_standby_keeps_nothing_of_pods_that_the_leader_bound():
    rig = Rig()
    rig.node("n1", cpu=10**6, pods=10**6)
    for i in range(MANY):  # a standby fills its queue and never takes anything out
        rig.pod(f"p{i}", cpu=1, image=f"image-{i}")
        rig.pod(f"p{i}", cpu=1, image=f"image-{i}", on="n1")
        rig.gone(f"p{i}")
    assert not rig.queue._tickets
    assert len(rig.queue._active) < FEW
    assert len(list(rig.cluster.shapes)) < FEW


def test_groups_of_parked_pods_end_with_their_last_pod():
    rig = Rig()
    rig.node("n1")
    for i in range(MANY):
        rig.pod(f"p{i}", cpu=1, image=f"image-{i}", claims=True)
        rig.settle()
        rig.gone(f"p{i}")
        rig.lanes.reports.clear()
    assert not rig.queue._unschedulable
    assert len(list(rig.cluster.shapes)) < FEW


def test_pods_that_left_their_group_do_not_pile_up_behind_one_that_stays():
    rig = Rig()
    rig.node("n1", cpu=1)
    rig.pod("head", cpu=2, priority=9)
    rig.settle()
    for i in range(MANY):
        rig.pod(f"p{i}", cpu=2)
        rig.settle()
        rig.gone(f"p{i}")
        rig.lanes.reports.clear()
    assert [len(sleepers.heap) < FEW for sleepers in rig.queue._unschedulable.values()] == [True]


def test_taints_that_carry_a_time_stamp_do_not_pile_up():
    rig = Rig()
    for i in range(MANY):
        rig.node("n1", taints=[{"key": "deletion-candidate", "value": str(i), "effect": "PreferNoSchedule"}])
    assert len(rig.cluster.nodes.taint_sets) < FEW


def test_names_of_nodes_that_come_and_go_do_not_pile_up():
    rig = Rig()
    rig.node("n1")
    for i in range(MANY):
        rig.cluster.nodes.labels.column(HOST)
        rig.node(f"auto-{i}")
        rig.no_node(f"auto-{i}")
    assert len(rig.cluster.nodes.labels.column(HOST).values) < FEW
