"""Gangs as victims: who is woken when one may be evicted as a whole, and who counts while that is under way."""

from __future__ import annotations

from koordpy.api.pod import Pod
from koordpy.plan.framework.profiles import default_profile
from koordpy.scheduler.settings import GangSettings
from tests.builders import typed
from tests.scheduler.gangs.rig import POD_GROUP_LABEL, GangRig, member_json, pod_group_sinks
from tests.scheduler.wakeups.rig import SCHEDULER, Rig, uid

PROTECTED = {"scheduling.koordinator.sh/disable-preemptible": "true"}


class PreemptingRig(GangRig):
    """A rig in which jobs may preempt."""

    def __init__(self) -> None:
        Rig.__init__(self, default_profile(SCHEDULER), gangs=GangSettings())
        self.pod_groups = pod_group_sinks(self)

    def nominated(self, name: str) -> str:
        return self.cluster.pods[uid(name)].nominated_node


def protected_elsewhere() -> PreemptingRig:
    """`vip` wants the node of g-1; g-2 is protected, and on a node that is too small for it."""
    rig = PreemptingRig()
    rig.node("a", cpu=2)
    rig.node("b", cpu=1)
    rig.gang("g", 2)
    rig.member("g-1", "g", on="a", cpu=2)
    rig.member("g-2", on="b", cpu=1, labels={POD_GROUP_LABEL: "g", **PROTECTED})
    rig.pod("vip", cpu=2, priority=100, node_selector={"kubernetes.io/hostname": "a"})
    rig.settle()
    assert rig.nominated("vip") == ""
    return rig


def test_a_job_is_woken_when_the_protected_member_of_a_gang_in_its_way_leaves():
    rig = protected_elsewhere()
    rig.gone("g-2")
    rig.settle()
    assert rig.nominated("vip") == "a"


def test_a_job_is_woken_when_a_gang_in_its_way_can_spare_a_member():
    rig = protected_elsewhere()
    rig.node("c", cpu=1)
    rig.member("g-3", "g", on="c", cpu=1)
    rig.settle()
    assert rig.nominated("vip") == "a"


def test_a_member_does_not_evict_its_own_gang():
    rig = PreemptingRig()
    rig.node("a", cpu=2)
    rig.gang("g", 3)
    rig.member("w-1", "g", on="a", priority=0)
    rig.member("w-2", "g", on="a", priority=0)
    rig.member("launcher", "g", priority=100)
    rig.settle()
    assert sorted(rig.cluster.gangs.get("default/g").bound) == ["u-w-1", "u-w-2"]


def test_a_gang_that_was_started_and_is_not_any_more_within_one_batch_starts_as_a_whole():
    rig = GangRig()
    rig.node("a", cpu=1)
    rig.gang("g", 2)
    pods = rig.built.sinks.pods
    pods.upsert(typed(member_json("g-1", "g", on="a"), Pod))
    pods.upsert(typed(member_json("g-2", "g"), Pod))
    pods.remove("default/g-1", uid("g-1"))
    rig.built.sinks.settle_pods()
    rig.settle()
    assert rig.nodes_of("g") == []


def test_members_that_were_to_be_evicted_count_again_in_another_term_of_leadership():
    rig = GangRig()
    rig.node("a", cpu=2)
    rig.gang("g", 2)
    rig.members("g", 2, on="a")
    gang = rig.cluster.gangs.get("default/g")
    rig.built.parts.evictor.evict_stale(list(gang.bound.values()), "for a test")
    assert not gang.bound
    rig.hand_over()
    assert len(gang.bound) == 2
