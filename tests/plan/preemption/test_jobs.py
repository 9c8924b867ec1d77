"""Victims are chosen by jobs and not by pods, and make room for a whole job."""

from __future__ import annotations

from koordpy.plan.preemption.eligibility import Preemption
from tests.plan.constraints import HOSTNAME, ZONE, affinity, pod_term, selector
from tests.plan.preemption.stage import HIGH, JOB_KEY, stage

APART_FROM_WEB = affinity(apart=[pod_term(HOSTNAME, selector(app="web"))])


# --- jobs ---


def test_members_beyond_the_minimum_go_first() -> None:
    here = stage("n1", "n2", cpu=1)
    here.node("n3", cpu=2)
    here.gang("g", 2)
    here.runs("g1", "n1", gang="g", started=1)
    here.runs("g2", "n3", gang="g", started=1)
    here.runs("g3", "n3", gang="g", started=1)
    here.runs("single", "n2", started=50)
    here.wants("p")
    assert here.victims()[0].startswith("g")


def test_a_gang_is_broken_once() -> None:
    """With one member gone it has too few; the others of it come before the first of another gang."""
    here = stage("n1", "n2", "n3", "n4", cpu=1)
    for gang in ("g", "h"):
        here.gang(gang, 2)
    here.runs("g1", "n1", gang="g", started=10)
    here.runs("h1", "n2", gang="h", started=20)
    here.runs("g2", "n3", gang="g", started=30)
    here.runs("h2", "n4", gang="h", started=40)
    here.wants_gang("x", "x1", "x2")
    assert here.victims() in (["g1", "g2"], ["h1", "h2"])


def test_a_gang_whose_surplus_is_used_up_is_no_cheaper_than_another() -> None:
    here = stage("n1", "n2", "n3", "n4", cpu=1)
    here.gang("g", 1)
    here.gang("h", 1)
    for number, gang in enumerate("gghh", start=1):
        here.runs(f"{gang}{number}", f"n{number}", gang=gang, started=10)
    here.wants_gang("x", "x1", "x2")
    assert [name[0] for name in here.victims()] == ["g", "h"]


def test_a_gang_that_is_broken_already_costs_less_than_a_whole_one() -> None:
    here = stage("n1", "n2", cpu=1)
    here.gang("half", 2)
    here.gang("whole", 1)
    here.runs("w", "n1", gang="whole", started=50)
    here.runs("h", "n2", gang="half", started=1)
    here.wants("p")
    assert here.victims() == ["h"]


def test_pods_with_the_same_questioned_object_key_are_one_job() -> None:
    here = stage("n1", "n2", "n3", cpu=1)
    here.runs("a", "n1", labels={JOB_KEY: "job"}, started=1)
    here.runs("b", "n2", started=50)
    here.runs("c", "n3", labels={JOB_KEY: "job"}, started=1)
    here.wants_gang("x", "x1", "x2")
    assert here.victims() == ["a", "c"]


def test_a_gang_that_goes_as_a_whole_goes_as_a_whole() -> None:
    here = stage("n1", "n2", cpu=1)
    here.gang("g", 1, mode="All")
    here.runs("g1", "n1", gang="g")
    here.runs("g2", "n2", gang="g")
    here.wants("p")
    assert here.victims() == ["g1", "g2"]


def test_a_gang_that_goes_as_a_whole_costs_that_much() -> None:
    here = stage("n1", "n2", "n3", cpu=1)
    here.gang("g", 1, mode="All")
    here.runs("g1", "n1", gang="g", started=50)
    here.runs("g2", "n2", gang="g", started=50)
    here.runs("single", "n3", started=1)
    here.wants("p")
    assert here.victims() == ["single"]


def test_a_gang_that_goes_as_a_whole_stays_when_one_of_it_may_not_go() -> None:
    here = stage("n1", "n2", "n3", cpu=1)
    here.gang("g", 1, mode="All")
    here.runs("g1", "n1", gang="g")
    here.runs("g2", "n2", gang="g", priority=HIGH)
    here.runs("other", "n3", priority=5)
    here.wants("p")
    assert here.victims() == ["other"]


def test_room_that_a_whole_gang_leaves_is_used_before_anybody_else_goes() -> None:
    here = stage("n1", "n2", "n3", cpu=1)
    here.gang("g", 1, mode="All")
    here.runs("g1", "n1", gang="g", priority=1)
    here.runs("g2", "n2", gang="g", priority=1)
    here.runs("single", "n3", priority=2)
    here.wants_gang("x", "x1", "x2")
    assert here.victims() == ["g1", "g2"]


# --- whole jobs ---


def test_members_see_each_other() -> None:
    """Koordinator's worked example: two nodes of 4 CPUs, two workers of 3, a victim on each."""
    here = stage("n1", "n2")
    here.runs("a", "n1", cpu=3)
    here.runs("b", "n2", cpu=3)
    here.wants_gang("x", "x1", "x2", cpu=3)
    found = here.asked()
    assert isinstance(found, Preemption)
    assert sorted(each.node for each in found.nominations) == ["n1", "n2"]
    assert here.victims() == ["a", "b"]


def test_nobody_leaves_for_a_gang_that_would_not_fit_as_a_whole() -> None:
    here = stage("n1", "n2")
    here.runs("a", "n1", cpu=3)
    here.runs("b", "n2", cpu=3, priority=HIGH)
    here.wants_gang("x", "x1", "x2", cpu=3)
    assert here.refusal().startswith("would fit 1 of 2 members even with everything of lower priority gone: ")


def test_nobody_leaves_for_a_gang_when_its_partner_would_not_fit() -> None:
    here = stage("n1", "n2")
    here.runs("a", "n1", cpu=4)
    here.runs("b", "n2", cpu=4, priority=HIGH)
    here.wants_gang("x", "x1", cpu=4)
    here.wants_gang("y", "y1", cpu=4)
    assert here.refusal().startswith("would fit 0 of 1 members even with everything of lower priority gone: ")


def test_one_member_that_must_not_preempt_is_enough() -> None:
    here = stage("n1", cpu=2)
    here.runs("a", "n1", cpu=2)
    here.wants_gang("x", "x1", "x2")
    here.pods[-1]["spec"]["preemptionPolicy"] = "Never"
    assert here.refusal() == "not eligible due to preemptionPolicy=Never."


def test_victims_are_below_every_member() -> None:
    here = stage("n1", "n2", cpu=1)
    here.runs("a", "n1", priority=5)
    here.runs("b", "n2", priority=3)
    here.wants_gang("x", "x1", priority=10)
    here.wants_gang("y", "y1", priority=4)
    assert here.refusal().startswith("would fit 0 of 1 members even with everything of lower priority gone: ")


def test_only_the_minimum_is_made_room_for() -> None:
    here = stage("n1", "n2", "n3", cpu=1)
    for number in (1, 2, 3):
        here.runs(f"v{number}", f"n{number}")
    here.wants_gang("x", "x1", "x2", "x3", minimum=2)
    assert len(here.victims()) == 2


def test_room_that_is_free_is_used_first() -> None:
    here = stage("n1", "n2", cpu=2)
    here.runs("a", "n1", cpu=2)
    here.runs("b", "n2", cpu=1)
    here.wants_gang("x", "x1", "x2")
    assert len(here.victims()) == 1


def test_members_of_different_sizes_find_their_places() -> None:
    here = stage("n1", "n2")
    here.runs("a", "n1", cpu=4)
    here.runs("b", "n2", cpu=4)
    here.wants_gang("x", "x1", "x2", cpu=2)
    here.wants_gang("y", "y1", cpu=4)
    assert here.victims() == ["a", "b"]


def test_members_that_keep_apart_get_a_node_each() -> None:
    here = stage("n1", "n2")
    here.runs("a", "n1", cpu=4)
    here.runs("b", "n2", cpu=4)
    here.wants_gang("x", "x1", "x2", labels={"app": "web"}, affinity=APART_FROM_WEB)
    assert here.victims() == ["a", "b"]


def test_pods_on_other_nodes_that_keep_a_gang_out_of_a_zone_leave() -> None:
    here = stage("n1", "n2", cpu=2, labels={ZONE: "a"})
    here.runs("loner", "n1", cpu=2, affinity=affinity(apart=[pod_term(ZONE, selector(app="web"))]), priority=5)
    here.runs("other", "n2", cpu=2)
    here.wants_gang("x", "x1", cpu=2, labels={"app": "web"}, node_selector={HOSTNAME: "n2"})
    assert here.victims() == ["loner", "other"]


def test_a_gang_without_possible_victims_says_so() -> None:
    here = stage("n1", cpu=1)
    here.runs("a", "n1", priority=HIGH)
    here.wants_gang("x", "x1")
    assert here.refusal() == "no pod of lower priority could be evicted"


def test_a_preemption_says_how_many_leave_how_many_nodes() -> None:
    here = stage("n1", "n2", cpu=2)
    for number in (1, 2):
        here.runs(f"a{number}", "n1")
        here.runs(f"b{number}", "n2")
    here.wants_gang("x", "x1", "x2", cpu=2)
    assert str(here.asked()) == "found a potential placement for all members, preempting 4 victims on 2 nodes"
