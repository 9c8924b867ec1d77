"""Whoever can be placed is woken: each test lets a pod fall asleep and then makes room for it in an unusual way."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.kube.errors import ApiError
from koordpy.plan.framework.profiles import PluginSet, ProfileSpec, build_profile, default_profile
from tests.plan.constraints import affinity, host_port, pod_term, selector, taint
from tests.scheduler.wakeups.rig import SCHEDULER, UNSCHEDULABLE, Rig, client_of, uid

HOST = "kubernetes.io/hostname"
BESIDE_A = affinity(near=[pod_term(HOST, selector(app="a"))])


# --- nodes that become fit in steps: the first step cures the refusal that the pod sleeps on, and is not enough ---


def test_a_node_may_join_before_its_devices_are_registered():
    rig = Rig()
    rig.node("plain")
    rig.pod("p", cpu=1, nvidia__com_gpu=1, node_selector={"pool": "gpu"})
    rig.settle()
    rig.node("gpu", labels={"pool": "gpu"})
    rig.settle()
    assert rig.where("p") is UNSCHEDULABLE
    rig.node("gpu", labels={"pool": "gpu"}, nvidia__com_gpu=8)
    rig.settle()
    assert rig.where("p") == "gpu"


def test_a_full_node_may_be_uncordoned_first_and_freed_later():
    rig = Rig()
    rig.node("n1", cpu=1, cordoned=True)
    rig.pod("old", cpu=1, on="n1")
    rig.pod("p", cpu=1)
    rig.settle()
    rig.node("n1", cpu=1)
    rig.settle()
    assert rig.where("p") is UNSCHEDULABLE
    rig.gone("old")
    rig.settle()
    assert rig.where("p") == "n1"


def test_a_node_may_register_with_nothing_allocatable_and_fill_in_later():
    rig = Rig()
    rig.pod("p", cpu=1)
    rig.settle()
    rig.node("n1", cpu=0, pods=0)
    rig.settle()
    assert rig.where("p") is UNSCHEDULABLE
    rig.node("n1", cpu=4)
    rig.settle()
    assert rig.where("p") == "n1"


def test_a_host_port_may_be_freed_while_cpu_is_short_and_the_node_grow_later():
    rig = Rig()
    rig.node("n1", cpu=2)
    rig.pod("holder", cpu=1, on="n1", host_ports=[host_port(80)])
    rig.pod("other", cpu=1, on="n1")
    rig.pod("p", cpu=2, host_ports=[host_port(80)])
    rig.settle()
    rig.gone("holder")
    rig.settle()
    assert rig.where("p") is UNSCHEDULABLE
    rig.node("n1", cpu=3)
    rig.settle()
    assert rig.where("p") == "n1"


# --- scouts: they speak only for those that get the same answer ---


def test_a_pod_that_is_promised_a_node_needs_no_scout_of_its_shape():
    rig = Rig()
    rig.node("n1", cpu=1)
    rig.pod("victim", cpu=1, on="n1")
    rig.pod("a", cpu=1, priority=10)
    rig.pod("b", cpu=1, priority=10)
    rig.settle()
    rig.pod("b", cpu=1, priority=10, promised="n1")
    rig.settle()
    rig.gone("victim")
    rig.settle()
    assert (rig.where("a"), rig.where("b")) == (UNSCHEDULABLE, "n1")


def test_a_scout_of_one_profile_does_not_speak_for_another():
    lax = build_profile("lax", ProfileSpec(everywhere=PluginSet(disabled=frozenset({"TaintToleration"}))))
    rig = Rig(default_profile(SCHEDULER), lax)
    rig.node("n1", cpu=1, taints=[taint("k")])
    rig.pod("old", cpu=1, on="n1")
    rig.pod("lax", cpu=1, scheduler="lax")
    rig.settle()
    rig.pod("strict", cpu=1)  # of the same shape, and refused later: for the taint, which no room cures
    rig.settle()
    rig.gone("old")
    rig.settle()
    assert (rig.where("strict"), rig.where("lax")) == (UNSCHEDULABLE, "n1")


def test_a_resource_that_the_profile_ignores_is_no_reason_to_sleep_on():
    rig = Rig(build_profile(SCHEDULER, ProfileSpec(args={"NodeResourcesFit": {"ignoredResources": ["ex.com/foo"]}})))
    rig.node("n1", cpu=1)
    rig.pod("old", cpu=1, on="n1")
    rig.pod("p", cpu=1, ex__com_foo=1)
    rig.settle()
    rig.gone("old")
    rig.settle()
    assert rig.where("p") == "n1"


# --- events that are easily forgotten ---


def test_a_self_affine_pod_may_be_the_first_of_its_set_when_its_last_companion_leaves():
    rig = Rig()
    rig.node("n1")
    rig.node("n2")
    rig.pod("old", cpu=1, on="n1", labels={"app": "a"}, affinity=BESIDE_A)
    rig.node("n1", cordoned=True)
    rig.pod("new", cpu=1, labels={"app": "a"}, affinity=BESIDE_A)
    rig.settle()
    assert rig.where("new") is UNSCHEDULABLE
    rig.gone("old")
    rig.settle()
    assert rig.where("new") == "n2"


def test_a_pod_that_needs_a_promised_companion_is_woken_when_the_companion_comes():
    rig = Rig()
    rig.node("n1")
    rig.node("n2", cordoned=True)  # its reason must not hide the one of n1, where p fits only beside the companion
    rig.pod("companion", cpu=2, priority=10, labels={"app": "a"}, promised="n1", scheduler="other")
    rig.pod("p", cpu=1, affinity=BESIDE_A)
    rig.settle()
    assert rig.where("p") is UNSCHEDULABLE
    rig.pod("companion", cpu=2, priority=10, labels={"app": "a"}, on="n1", scheduler="other")
    rig.settle()
    assert rig.where("p") == "n1"


def promised_and_waiting() -> Rig:
    """A pod of high priority is promised all of n1; a small one would fit if it were not for the promise."""
    rig = Rig()
    rig.node("n1", cpu=2)
    rig.node("n2", cpu=2, cordoned=True)
    rig.pod("old", cpu=1, on="n1")
    rig.pod("high", cpu=2, priority=10, promised="n1")
    rig.pod("low", cpu=1)
    rig.settle()
    assert rig.where("low") is UNSCHEDULABLE
    return rig


def test_a_promise_ends_when_its_pod_terminates():
    rig = promised_and_waiting()
    rig.pod("high", cpu=2, priority=10, promised="n1", terminating=True)
    rig.settle()
    assert rig.where("low") == "n1"


def test_a_promise_ends_when_its_pod_is_bound_elsewhere():
    rig = promised_and_waiting()
    rig.pod("high", cpu=2, priority=10, promised="n1", on="n2")
    rig.settle()
    assert rig.where("low") == "n1"


def test_a_promise_ends_when_its_pod_is_gone():
    rig = promised_and_waiting()
    rig.gone("high")
    rig.settle()
    assert rig.where("low") == "n1"


@pytest.mark.parametrize("end", ["gone", "taken back", "bound elsewhere"])
def test_a_promise_that_kept_others_away_by_anti_affinity_ends(end: str):
    """Room alone is no cure for them: what has left is a pod, even if it was never there."""
    apart = affinity(apart=[pod_term(HOST, selector(app="web"))])
    rig = Rig()
    rig.node("n1")
    rig.node("n2", cordoned=True)
    rig.pod("high", cpu=1, priority=10, affinity=apart, node_selector={"no": "where"}, promised="n1")
    rig.pod("low", cpu=1, labels={"app": "web"})
    rig.settle()
    assert rig.where("low") is UNSCHEDULABLE
    if end == "gone":
        rig.gone("high")
    else:
        where = "n2" if end == "bound elsewhere" else ""
        rig.pod("high", cpu=1, priority=10, affinity=apart, node_selector={"no": "where"}, on=where)
    rig.settle()
    assert rig.where("low") == "n1"


def test_a_service_that_stops_selecting_spreads_nobody_any_more():
    constraint = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule"}
    spread = {"PodTopologySpread": {"defaultingType": "List", "defaultConstraints": [constraint]}}
    rig = Rig(build_profile(SCHEDULER, ProfileSpec(args=spread)))
    rig.service("s", tier="x")
    rig.node("n1")
    rig.node("full", cpu=0)
    rig.pod("old", cpu=1, on="n1", labels={"tier": "x"})
    rig.pod("p", cpu=1, labels={"tier": "x"})
    rig.settle()
    assert rig.where("p") is UNSCHEDULABLE
    rig.no_service("s")
    rig.settle()
    assert rig.where("p") == "n1"


# --- leadership and binds ---


def test_what_an_earlier_term_assumed_and_never_bound_is_free_after_a_hand_over():
    rig = Rig()
    rig.node("n1", cpu=1)
    rig.pod("assumed", cpu=1)
    rig.settle()
    rig.pod("pinned", cpu=1, node_selector={HOST: "n1"}, priority=1)
    rig.settle()
    assert (rig.where("assumed"), rig.where("pinned")) == ("n1", UNSCHEDULABLE)
    rig.hand_over()
    rig.settle()
    assert (rig.where("assumed"), rig.where("pinned")) == (UNSCHEDULABLE, "n1")


def test_a_bind_that_fails_after_its_pod_was_reshaped_is_retried_in_the_new_shape():
    rig = Rig()
    rig.node("n1", cpu=1)
    rig.pod("p", cpu=1, labels={"tier": "x"})
    rig.pod("q", cpu=1)
    pods = rig.cluster.pods
    assert pods[uid("p")].shape is pods[uid("q")].shape
    ticket = rig.attempt()
    rig.service("s", tier="x")  # from here on, the label tells p from q
    rig.binder._bind_failed(pods[uid("p")], ticket, ApiError("no"))
    retried = rig.ticket("p")
    assert retried is not None
    assert retried.equivalence.wants == ((pods[uid("p")].shape, 1),)
    assert pods[uid("p")].shape is not pods[uid("q")].shape


@pytest.mark.looptime
async def test_a_write_that_is_held_back_in_the_middle_of_a_term_strands_nobody():
    bound = []

    def answer(method: str, path: str) -> tuple[int, bytes]:
        if path.endswith("/binding"):
            bound.append(path)
        return 201, b"{}"

    leading = False
    client = client_of(answer).guarded_by(lambda: leading)
    rig = Rig(client=client, clock=asyncio.get_running_loop().time)
    rig.node("n1")
    rig.pod("p", cpu=1)
    running = asyncio.create_task(rig.scheduler.run())
    await asyncio.sleep(0.05)
    assert not bound
    leading = True
    await asyncio.sleep(5)
    running.cancel()
    await asyncio.wait([running])
    assert len(bound) == 1
