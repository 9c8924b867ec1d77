"""Who leaves for a single pod, and who never does: rule by rule, on small pictures."""

from __future__ import annotations

import pytest

from koordpy.plan.preemption.eligibility import Preemption, find_preemption
from tests.plan.constraints import HOSTNAME, ZONE, affinity, host_port, pod_term, selector, spread_over, taint
from tests.plan.preemption.stage import HIGH, PROFILES, stage

APART_FROM_WEB = affinity(apart=[pod_term(HOSTNAME, selector(app="web"))])


# --- one pod, as in kube-scheduler ---


def test_the_node_with_the_lowest_highest_victim_is_chosen() -> None:
    here = stage("n1", "n2")
    here.runs("a", "n1", cpu=4, priority=2)
    here.runs("b", "n2", cpu=2, priority=1)
    here.runs("c", "n2", cpu=2, priority=1)
    here.wants("p", cpu=4)
    assert here.victims() == ["b", "c"]


def test_of_two_that_would_do_the_less_important_leaves() -> None:
    here = stage("n1")
    here.runs("a", "n1", cpu=2, priority=1)
    here.runs("b", "n1", cpu=2, priority=2)
    here.wants("p", cpu=2)
    assert here.victims() == ["a"]


def test_of_equals_the_one_that_started_last_leaves() -> None:
    here = stage("n1")
    here.runs("old", "n1", cpu=2, started=1)
    here.runs("young", "n1", cpu=2, started=30)
    here.wants("p", cpu=2)
    assert here.victims() == ["young"]


def test_a_pod_that_has_not_started_yet_is_the_youngest() -> None:
    here = stage("n1", "n2", cpu=1)
    here.runs("young", "n1", started=59)
    here.runs("not-yet", "n2")
    here.wants("p")
    assert here.victims() == ["not-yet"]


def test_equal_priority_is_never_evicted() -> None:
    here = stage("n1", cpu=1)
    here.runs("a", "n1", priority=HIGH)
    here.wants("p")
    assert here.refusal() == "0/1 nodes are available: 1 No preemption victims found for incoming pod."


def test_who_must_not_preempt_does_not() -> None:
    here = stage("n1", cpu=1)
    here.runs("a", "n1")
    here.wants("p", never=True)
    assert here.refusal() == "not eligible due to preemptionPolicy=Never."


def test_nodes_that_no_eviction_could_open_are_told_apart_from_those_without_victims() -> None:
    here = stage("n1", "n2", cpu=1)
    here.node("small", cpu=1, taints=[taint("k")])
    here.node("other", cpu=1)
    for name in ("n1", "n2"):
        here.runs(f"on-{name}", name, priority=HIGH)
    here.runs("on-small", "small")
    here.runs("on-other", "other")
    here.wants("p", cpu=2)
    assert here.refusal() == "0/4 nodes are available: 4 Preemption is not helpful for scheduling."


def test_a_pod_that_would_not_fit_even_so_says_what_would_be_short() -> None:
    here = stage("n1")
    here.runs("a", "n1", cpu=2, priority=HIGH)
    here.runs("b", "n1", cpu=2)
    here.wants("p", cpu=4)
    assert here.refusal() == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_node_whose_room_is_promised_to_others_says_what_would_be_short() -> None:
    here = stage("n1", "n2")
    here.runs("on-n1", "n1", cpu=4)
    here.runs("on-n2", "n2", cpu=4, priority=HIGH)
    here.waits("first", "n1", cpu=2, priority=HIGH)
    here.wants("p", cpu=4)
    told = "1 Insufficient cpu, 1 No preemption victims found for incoming pod"
    assert here.refusal() == f"0/2 nodes are available: {told}."


def test_a_node_that_takes_no_pods_at_all_is_said_to_have_no_victims() -> None:
    """As in kube-scheduler, to which only resources can be too small for good."""
    here = stage("n1", pods=0)
    here.wants("p")
    assert here.refusal() == "0/1 nodes are available: 1 No preemption victims found for incoming pod."


def test_nobody_leaves_for_a_pod_that_is_refused_on_every_node_alike() -> None:
    """It has a wish about other pods, so that it is not enough to ask what would be without any of them."""
    here = stage("n1", cpu=1)
    here.runs("a", "n1")
    here.wants("p", spread=[spread_over(ZONE, selector(app="web"), soft=True)])
    here.pods[-1]["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "not-there"}}]
    assert here.refusal() == "0/1 nodes are available: 1 Preemption is not helpful for scheduling."


def test_a_terminating_pod_is_waited_for_and_not_a_victim_again() -> None:
    here = stage("n1", "n2", cpu=1)
    here.runs("leaving", "n1", terminating=True)
    here.runs("staying", "n2", priority=1)
    here.wants("p")
    found = here.asked()
    assert isinstance(found, Preemption)
    assert not found.victims
    assert [each.node for each in found.nominations] == ["n1"]


def test_the_room_of_a_terminating_pod_counts_beside_that_of_victims() -> None:
    here = stage("n1", cpu=2)
    here.runs("leaving", "n1", terminating=True)
    here.runs("low", "n1")
    here.wants("p", cpu=2)
    assert here.victims() == ["low"]


def test_a_terminating_pod_of_the_same_priority_is_not_waited_for() -> None:
    here = stage("n1", "n2", cpu=1)
    here.runs("leaving", "n1", terminating=True, priority=HIGH)
    here.runs("staying", "n2", priority=1)
    here.wants("p")
    assert here.victims() == ["staying"]


def test_promises_that_have_come_to_nothing_are_not_waited_for() -> None:
    """The gang has grown since, and even without the victims there is no room for so many."""
    here = stage("n1", cpu=2)
    here.runs("leaving", "n1", cpu=2, leaves_for="default/x")
    here.wants_gang("x", "x1", "x2", "x3", promised="n1")
    assert here.refusal() == "no pod of lower priority could be evicted"


def test_nobody_more_is_evicted_while_victims_leave_the_promised_node() -> None:
    here = stage("n1", "n2", cpu=1)
    here.runs("leaving", "n1", leaves_for="default/p")
    here.runs("other", "n2")
    here.wants("p", promised="n1")
    assert here.refusal() == "not eligible due to a terminating pod on the nominated node."


def test_a_promised_node_that_is_of_no_use_any_more_holds_nobody_up() -> None:
    here = stage("n2", cpu=1)
    here.node("n1", cpu=1, cordoned=True)
    here.runs("leaving", "n1", leaves_for="default/p")
    here.runs("other", "n2")
    here.wants("p", promised="n1")
    assert here.victims() == ["other"]


def test_victims_that_leave_for_a_job_without_promises_are_waited_for_and_the_promises_made_good() -> None:
    """A crash came between the evictions and the nominations."""
    here = stage("n1", "n2", cpu=1)
    here.runs("leaving", "n1", leaves_for="default/p")
    here.runs("other", "n2")
    here.wants("p")
    found = here.asked()
    assert isinstance(found, Preemption)
    assert not found.victims
    assert [each.node for each in found.nominations] == ["n1"]


def test_an_eviction_that_was_cut_short_is_completed() -> None:
    here = stage("n1", "n2", cpu=1)
    here.runs("leaving", "n1", leaves_for="default/x")
    here.runs("other", "n2")
    here.wants_gang("x", "x1", "x2")
    assert here.victims() == ["other"]


def test_a_pod_with_the_port_that_is_wanted_leaves() -> None:
    here = stage("n1")
    here.runs("a", "n1", cpu=1, priority=5)
    here.runs("web", "n1", cpu=1, priority=7, host_ports=[host_port(80)])
    here.wants("p", cpu=1, host_ports=[host_port(80)])
    assert here.victims() == ["web"]


def test_a_pod_that_does_not_tolerate_others_beside_it_leaves() -> None:
    here = stage("n1")
    here.runs("loner", "n1", cpu=1, affinity=APART_FROM_WEB)
    here.runs("other", "n1", cpu=1)
    here.wants("p", cpu=1, labels={"app": "web"})
    assert here.victims() == ["loner"]


def test_a_companion_on_another_node_of_the_zone_need_not_be_off_for_the_search() -> None:
    here = stage("n1", "n2", cpu=2, labels={ZONE: "a"})
    here.runs("friend", "n1", cpu=2, labels={"app": "web"})
    here.runs("other", "n2", cpu=2)
    here.wants("p", cpu=2, affinity=affinity(near=[pod_term(ZONE, selector(app="web"))]))
    assert here.victims() == ["other"]


# --- room that was promised to others ---


def test_room_promised_to_a_pod_of_higher_priority_is_not_counted_on() -> None:
    here = stage("n1")
    here.runs("a", "n1", cpu=2)
    here.runs("b", "n1", cpu=2)
    here.waits("first", "n1", cpu=2, priority=HIGH + 1)
    here.wants("p", cpu=2)
    assert here.victims() == ["a", "b"]


def test_room_promised_to_a_pod_of_lower_priority_may_be_taken() -> None:
    here = stage("n1")
    here.runs("a", "n1", cpu=2, started=1)
    here.runs("b", "n1", cpu=2, started=2)
    here.waits("later", "n1", cpu=2, priority=HIGH - 1)
    here.wants("p", cpu=2)
    assert here.victims() == ["b"]


@pytest.mark.parametrize(("priority", "displaced"), [(HIGH - 11, ["other"]), (HIGH - 10, []), (HIGH - 5, [])])
def test_a_job_of_mixed_priorities_takes_nominations_only_below_its_lowest_member(
    priority: int, displaced: list[str]
) -> None:
    """What the search keeps free for another, nobody takes from it later."""
    here = stage("n1")
    here.runs("a", "n1", cpu=4)
    here.waits("other", "n1", cpu=1, priority=priority)
    here.wants("high", gang="g", cpu=1)
    here.wants("low", gang="g", cpu=1, priority=HIGH - 10)
    here.demands.append(("default/g", 2, ["high", "low"]))
    cluster = here.picture()
    found = find_preemption(here.job(cluster), cluster, PROFILES)
    assert isinstance(found, Preemption)
    assert [pod.name for pod in found.displaced] == displaced


# --- protection ---


def test_labels_protect_a_pod() -> None:
    for key, value in (("scheduling", "true"), ("quota.scheduling", "false")):
        name = "disable-preemptible" if key == "scheduling" else "preemptible"
        here = stage("n1", "n2", cpu=1)
        here.runs("protected", "n1", labels={f"{key}.koordinator.sh/{name}": value})
        here.runs("other", "n2", priority=5)
        here.wants("p")
        assert here.victims() == ["other"]


def test_a_protected_namespace_protects_its_pods() -> None:
    here = stage("n1", "n2", cpu=1)
    here.protected_namespaces = frozenset({"system"})
    here.runs("protected", "n1", namespace="system")
    here.runs("other", "n2", priority=5)
    here.wants("p")
    assert here.victims() == ["other"]


def test_pods_of_other_schedulers_are_victims_like_all_others() -> None:
    here = stage("n1", cpu=1)
    here.runs("a", "n1", scheduler="default-scheduler")
    here.wants("p")
    assert here.victims() == ["a"]


# --- budgets ---


def test_a_budget_is_spared_even_for_a_victim_of_higher_priority() -> None:
    here = stage("n1", "n2", cpu=1)
    here.runs("guarded", "n1", labels={"app": "db"})
    here.runs("other", "n2", priority=5)
    here.budget("db", 0, app="db")
    here.wants("p")
    assert here.victims() == ["other"]


def test_a_budget_is_violated_where_nothing_else_helps() -> None:
    here = stage("n1", cpu=1)
    here.runs("guarded", "n1", labels={"app": "db"})
    here.budget("db", 0, app="db")
    here.wants("p")
    assert here.victims() == ["guarded"]


def test_a_budget_counts_all_victims_and_not_each_by_itself() -> None:
    """One of the two may go; so both together cost a violation, and the dearer node none."""
    here = stage("n1", "n2", cpu=2)
    here.runs("db-1", "n1", labels={"app": "db"})
    here.runs("db-2", "n1", labels={"app": "db"})
    here.runs("other", "n2", cpu=2, priority=5)
    here.budget("db", 1, app="db")
    here.wants("p", cpu=2)
    assert here.victims() == ["other"]


def test_a_budget_is_used_up_over_all_nodes() -> None:
    here = stage("n1", "n2", "n3", cpu=1)
    here.runs("db-1", "n1", labels={"app": "db"})
    here.runs("db-2", "n2", labels={"app": "db"})
    here.runs("other", "n3", priority=5)
    here.budget("db", 1, app="db")
    here.wants_gang("x", "x1", "x2")
    assert len(here.victims()) == 2
    assert "other" in here.victims()


def test_a_budget_with_an_empty_selector_guards_nobody() -> None:
    here = stage("n1", "n2", cpu=1)
    here.runs("a", "n1", labels={"app": "db"})
    here.runs("b", "n2", priority=5)
    here.budget("all", 0)
    here.wants("p")
    assert here.victims() == ["a"]


def test_within_a_node_the_guarded_one_stays() -> None:
    here = stage("n1", cpu=2)
    here.runs("guarded", "n1", labels={"app": "db"}, priority=1)
    here.runs("other", "n1", priority=5)
    here.budget("db", 0, app="db")
    here.wants("p")
    assert here.victims() == ["other"]
