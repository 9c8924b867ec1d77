"""Members beyond a gang's minimum that evict others: they are part of the gang's job, and then jobs by themselves."""

from __future__ import annotations

from tests.scheduler.queues.rig import QueueRig


def test_a_member_that_becomes_a_job_by_itself_does_not_evict_a_second_time():
    rig = QueueRig()
    for number in range(4):
        rig.node(f"n{number}", cpu=1)
    for number in (2, 3):
        rig.member(f"low-{number}", on=f"n{number}", priority=0)
    rig.gang("a", 2)
    rig.members("a", 3, priority=10)
    rig.settle()
    first = rig.evicted()
    assert len(first) == 1
    for member in ("a-1", "a-2"):
        rig.member(member, "a", on=rig.cluster.pods[f"u-{member}"].node, priority=10)
    rig.settle()
    assert rig.evicted() == first
    assert rig.message("a-3").endswith("not eligible due to a terminating pod on the nominated node.")
