"""A single pod makes room as in kube-scheduler: who leaves, who never does, and what everybody is told."""

from __future__ import annotations

import pytest

from tests.plan.constraints import HOSTNAME, affinity, host_port, pod_term, selector, taint
from tests.scenarios import api
from tests.scenarios.mirror import PODS
from tests.scenarios.objects import condition, node_of
from tests.scenarios.world import World


async def test_a_pod_of_lower_priority_leaves_and_its_place_is_taken(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low", "n1", cpu=4)
    await world.urgent("high", cpu=4)
    await world.evicted("low")
    await world.nominated(high="n1")
    await world.pending("high")
    await world.gone("low")
    await world.bound("high")


async def test_the_victim_says_for_whom_it_leaves(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low", "n1", cpu=4)
    await world.urgent("high", cpu=4)
    await world.evicted("low")
    told = condition(world.pod("low"), "DisruptionTarget")
    assert told["status"] == "True"
    assert told["reason"] == "PreemptionByScheduler"
    assert told["message"] == world.fill(
        "koord-scheduler: preempting to accommodate higher priority pods, preemptor: {ns}/high, triggerpod: {ns}/high"
    )
    event = await world.event("Preempted", pod="low", text="on node n1")
    assert event["type"] == "Normal"
    assert event["action"] == "Preempting"
    assert event["reportingController"] == "koord-scheduler"


async def test_the_victim_keeps_its_own_grace_period(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low", "n1", cpu=4)
    own = world.pod("low")["spec"]["terminationGracePeriodSeconds"]
    await world.urgent("high", cpu=4)
    await world.evicted("low")
    assert world.pod("low")["metadata"]["deletionGracePeriodSeconds"] == own


async def test_the_preemptor_says_what_it_found_in_the_words_of_kube_scheduler(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.runs("low", "n2", cpu=4)
    await world.runs("equal", "n1", cpu=4, priority=1000)
    told = "0/2 nodes are available: 2 Insufficient cpu. preemption: "
    await world.urgent("high", cpu=4)
    await world.event(
        "FailedScheduling", pod="high",
        text=told + "found a potential placement for pod on node n2, preempting 1 victim",
    )  # fmt: skip
    await world.says("high", told + "not eligible due to a terminating pod on the nominated node.")


async def test_nobody_is_evicted_when_there_is_room(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.runs("low", "n1", cpu=4)
    await world.urgent("high", cpu=4)
    await world.bound("high")
    await world.nobody_evicted()


async def test_equal_priority_is_never_evicted(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("equal", "n1", cpu=4, priority=1000)
    await world.urgent("high", cpu=4, priority=1000)
    await world.says("high", "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.")
    await world.nobody_evicted()


async def test_a_pod_that_must_not_preempt_waits(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low", "n1", cpu=4)
    await world.pods("polite", cpu=4, priority=1000)
    await world.says("polite", "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to")
    await world.says("polite", "preemptionPolicy=Never.")
    await world.nobody_evicted()


async def test_the_least_important_victims_are_chosen(world: World) -> None:
    await world.nodes(3, cpu=2)
    await world.runs("five", "n1", cpu=2, priority=5)
    await world.runs("three", "n2", cpu=2, priority=3)
    await world.runs("four", "n3", cpu=2, priority=4)
    await world.urgent("high", cpu=2)
    await world.evicted("three")


async def test_no_more_leave_than_need_to_and_the_most_important_stay(world: World) -> None:
    await world.nodes(1, cpu=4)
    for priority in (1, 2, 3, 4):
        await world.runs(f"p{priority}", "n1", cpu=1, priority=priority)
    await world.urgent("high", cpu=2)
    await world.evicted("p1", "p2")
    await world.gone("p1", "p2")
    await world.bound("high")


async def test_one_large_victim_is_better_than_two_small_ones(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.runs("small-1", "n1", cpu=2)
    await world.runs("small-2", "n1", cpu=2)
    await world.runs("large", "n2", cpu=4)
    await world.urgent("high", cpu=4)
    await world.evicted("large")


async def test_of_equals_the_one_that_started_last_leaves(world: World) -> None:
    await world.nodes(3, cpu=1)
    for node, minute in (("n1", 10), ("n2", 30), ("n3", 20)):
        await world.runs(f"on-{node}", node, cpu=1, minute=minute)
    await world.settled()
    await world.urgent("high", cpu=1)
    await world.evicted("on-n2")


async def test_a_pod_of_another_scheduler_leaves_like_any_other(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.bind_elsewhere("foreign", "n1", cpu=4)
    await world.urgent("high", cpu=4)
    await world.evicted("foreign")
    await world.gone("foreign")
    await world.bound("high")


async def test_a_victim_that_only_holds_a_port_leaves(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("web", "n1", host_ports=[host_port(80)])
    await world.runs("other", "n1", cpu=1)
    await world.urgent("high", host_ports=[host_port(80)])
    await world.evicted("web")
    await world.gone("web")
    await world.bound("high")


async def test_a_victim_that_keeps_others_away_leaves(world: World) -> None:
    await world.nodes(1, cpu=4)
    loner = affinity(apart=[pod_term(HOSTNAME, selector(app="web"))])
    await world.runs("loner", "n1", cpu=1, affinity=loner)
    await world.runs("other", "n1", cpu=1)
    await world.urgent("high", cpu=1, labels={"app": "web"})
    await world.evicted("loner")
    await world.gone("loner")
    await world.bound("high")


async def test_nobody_leaves_where_it_would_not_help(world: World) -> None:
    """By taint, by selector, and by size."""
    await world.node("n1", cpu=4, taints=[taint("dedicated")])
    await world.node("n2", cpu=2)
    await world.bind_elsewhere("on-n1", "n1", cpu=4)
    await world.bind_elsewhere("on-n2", "n2", cpu=2)
    await world.urgent("high", cpu=4)
    await world.says("high", "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling")
    await world.nobody_evicted()


@pytest.mark.parametrize(
    "label",
    [
        {"scheduling.koordinator.sh/disable-preemptible": "true"},
        {"quota.scheduling.koordinator.sh/preemptible": "false"},
    ],
    ids=["disable-preemptible", "quota"],
)
async def test_a_label_protects_a_pod(world: World, label: dict[str, str]) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("protected", "n1", cpu=2, labels=label)
    await world.runs("other", "n2", cpu=2, priority=500)
    await world.urgent("high", cpu=2)
    await world.evicted("other")


async def test_a_pod_that_is_no_longer_protected_leaves(world: World) -> None:
    key = "scheduling.koordinator.sh/disable-preemptible"
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2, labels={key: "true"})
    await world.urgent("high", cpu=2)
    await world.says("high", "No preemption victims found")
    await world.label("low", labels={key: None})
    await world.evicted("low")


async def test_a_pod_in_a_protected_namespace_stays(world: World) -> None:
    await world.restart(koordpy={"protectedNamespaces": [world.other_namespace]})
    await world.nodes(1, cpu=2)
    await world.pods("low", cpu=2, namespace=world.other_namespace)
    await world.bound("low", namespace=world.other_namespace)
    await world.urgent("high", cpu=2)
    await world.says("high", "No preemption victims found")
    await world.nobody_evicted()


async def test_where_the_configuration_says_never_nobody_is_evicted(world: World) -> None:
    await world.restart(koordpy={"preemption": "Never"})
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.urgent("high", cpu=2)
    await world.says("high", "0/1 nodes are available: 1 Insufficient cpu.")
    await world.nobody_evicted()
    assert "preemption" not in condition(world.pod("high"))["message"]


async def test_without_koordinators_switch_for_preemption_nobody_is_evicted(world: World) -> None:
    await world.restart(enablePreemption=False)
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.urgent("high", cpu=2)
    await world.says("high", "0/1 nodes are available: 1 Insufficient cpu.")
    await world.nobody_evicted()


async def test_one_profile_may_be_forbidden_to_preempt(world: World) -> None:
    await world.restart(profiles=[{"schedulerName": "polite", "koordpy": {"preemption": "Never"}}])
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.urgent("first", cpu=2, scheduler="polite")
    await world.says("first", "Insufficient cpu")
    await world.nobody_evicted()
    await world.urgent("second", cpu=2)
    await world.evicted("low")


async def test_nobody_is_evicted_where_a_terminating_pod_is_about_to_make_room(world: World) -> None:
    """It is waited for, and its place is held."""
    await world.nodes(2, cpu=2)
    await world.runs("leaving", "n1", cpu=2)
    await world.runs("low", "n2", cpu=2)
    await world.terminate("leaving")
    await world.settled()
    await world.urgent("high", cpu=2)
    await world.nominated(high="n1")
    await world.nobody_evicted()
    await world.pods("other", cpu=2)
    await world.unreserve("leaving")
    await world.bound("high")
    await world.nobody_evicted()


@pytest.mark.parametrize("priority", [1000, 2000], ids=["equal", "higher"])
async def test_a_job_that_waits_for_terminating_pods_that_it_could_not_evict_is_told_so(
    world: World, priority: int
) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("leaving", "n1", cpu=2, priority=priority)
    await world.terminate("leaving")
    await world.settled()
    await world.urgent("high", cpu=2)
    await world.says("high", "; there is room when terminating pods have left: {ns}/leaving")
    await world.nominated(high="")
    await world.unreserve("leaving")
    await world.bound("high")


async def test_pods_that_are_terminating_in_vain_are_not_named(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("leaving", "n1", cpu=2, priority=1000)
    await world.runs("stays", "n1", cpu=2, priority=1000)
    await world.terminate("leaving")
    await world.settled()
    await world.urgent("high", cpu=4)
    await world.says("high", "Insufficient cpu")
    assert "terminating" not in condition(world.pod("high"))["message"]


async def test_a_terminating_pod_is_not_evicted_again(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("leaving", "n1", cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.terminate("leaving")
    await world.settled()
    await world.urgent("high", cpu=4)
    await world.evicted("low")
    assert not condition(world.pod("leaving"), "DisruptionTarget")


async def test_a_pod_whose_victims_are_leaving_evicts_nobody_else(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("low-1", "n1", cpu=2, priority=1)
    await world.runs("low-2", "n2", cpu=2, priority=2)
    await world.urgent("high", cpu=2)
    await world.evicted("low-1")
    await world.pods("noise", cpu=1)
    await world.delete("noise")
    await world.evicted("low-1")


async def test_two_pods_that_come_at_once_do_not_share_a_victim(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("low-1", "n1", cpu=2)
    await world.runs("low-2", "n2", cpu=2)
    await world.urgent("high-1", "high-2", cpu=2)
    await world.evicted("low-1", "low-2")
    await world.gone("low-1", "low-2")
    await world.bound("high-1", "high-2")


async def test_pods_that_are_just_being_bound_can_be_evicted_once_they_are(world: World) -> None:
    """When the urgent pod looks, the others only count as placed; nothing else happens afterwards but their binds."""
    await world.nodes(1, cpu=2)
    world.delays("bind", seconds=1.0, times=2)
    await world.pods("low-1", "low-2", cpu=1)
    await world.urgent("high", cpu=2)
    await world.evicted("low-1", "low-2")


async def test_a_budget_is_spared_although_the_other_victim_is_more_important(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("guarded", "n1", cpu=2, labels={"app": "db"})
    await world.runs("other", "n2", cpu=2, priority=500)
    await world.budget("db", 0, app="db")
    await world.urgent("high", cpu=2)
    await world.evicted("other")


async def test_a_budget_is_violated_where_nothing_else_helps(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("guarded", "n1", cpu=2, labels={"app": "db"})
    await world.budget("db", 0, app="db")
    await world.urgent("high", cpu=2)
    await world.evicted("guarded")


async def test_a_budget_that_allows_one_is_not_asked_for_two(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("db-1", "n1", cpu=1, labels={"app": "db"})
    await world.runs("db-2", "n1", cpu=1, labels={"app": "db"})
    await world.runs("other", "n2", cpu=2, priority=500)
    await world.budget("db", 1, app="db")
    await world.urgent("high", cpu=2)
    await world.evicted("other")


async def test_the_writes_of_a_preemption_come_in_the_order_of_the_contract(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low-1", "n1", cpu=2)
    await world.runs("low-2", "n1", cpu=2)
    await world.urgent("high", cpu=4)
    await world.evicted("low-1", "low-2")
    await world.nominated(high="n1")
    writes = world.preemption_writes()
    for low in ("low-1", "low-2"):
        steps = [writes.index((call, low)) for call in ("tell", "evict", "announce")]
        assert steps == sorted(steps)
        assert writes.index(("evict", low)) < writes.index(("nominate", "high"))


async def test_a_pod_that_follows_its_preemption_is_counted(world: World) -> None:
    before = await world.metric("koordpy_preemption_outcome_total", outcome="started")
    attempts = await world.metric("scheduler_preemption_attempts_total")
    victims = await world.metric("scheduler_preemption_victims_sum")
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.urgent("high", cpu=2)
    await world.evicted("low")
    await world.gone("low")
    await world.bound("high")
    assert await world.metric("koordpy_preemption_outcome_total", outcome="started") == before + 1
    assert await world.metric("scheduler_preemption_attempts_total") > attempts
    assert await world.metric("scheduler_preemption_victims_sum") == victims + 1


async def test_a_preemptor_that_is_deleted_is_counted_too(world: World) -> None:
    before = await world.metric("koordpy_preemption_outcome_total", outcome="gone")
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.urgent("high", cpu=2)
    await world.evicted("low")
    await world.delete("high")
    await world.settled()
    assert await world.metric("koordpy_preemption_outcome_total", outcome="gone") == before + 1


async def test_the_victims_owner_may_make_it_again_and_it_waits(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.urgent("high", cpu=2)
    await world.evicted("low")
    await world.gone("low")
    await world.pods("low", cpu=2)
    await world.bound("high")
    await world.pending("low")
    assert [node_of(pod) for pod in world.mirror.all(PODS) if pod["metadata"]["name"] == "low"] == [""]


async def test_a_victim_that_finishes_by_itself_makes_room_too(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.urgent("high", cpu=2)
    await world.evicted("low")
    await world.finish("low")
    await world.bound("high")


async def test_a_pod_with_a_priority_below_zero_leaves_for_one_without_any(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2, priority=-5)
    await world.pods("plain", cpu=2)
    await world.evicted("low")
    await world.api.ask("GET", api.pods(world.namespace, "plain"))
