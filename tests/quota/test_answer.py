"""The tree of queues as a document."""

from __future__ import annotations

from koordpy.api.answers import QueueJobs
from koordpy.quota.answer import Moment, queue_list
from tests.quota.building import Team, queue


def names(team: Team) -> list[str]:
    return [item.name for item in queue_list(Moment(team.usage, team.shares(), {}, "now")).items]


def test_parents_come_before_their_children_and_siblings_in_the_order_of_their_turn():
    made = [
        queue("d1"),
        queue("d2", quota=4),
        queue("x", "d1"),
        queue("y", "d1", priority=200),
        queue("z", "d2", quota=4),
    ]
    team = Team(*made).runs("x", 1).runs("y", 2).runs("z", 4)
    assert names(team) == ["d2", "z", "d1", "y", "x"]


def test_queues_that_are_not_ready_come_last_with_what_is_wrong():
    team = Team(queue("a", "gone"), queue("b"))
    found = queue_list(Moment(team.usage, team.shares(), {}, "now")).items
    assert [(item.name, item.state, item.message) for item in found] == [
        ("b", "Ready", ""),
        ("a", "ParentMissing", "parent queue gone does not exist"),
    ]
    assert found[1].parent == "gone"


def test_jobs_of_a_parent_are_those_of_its_children():
    team = Team(queue("d"), queue("x", "d"), queue("y", "d"))
    jobs = {team.tree.rows["x"]: QueueJobs(running=1, waiting=2), team.tree.rows["y"]: QueueJobs(running=3, waiting=0)}
    found = {item.name: item.jobs for item in queue_list(Moment(team.usage, team.shares(), jobs, "now")).items}
    assert found == {
        "d": QueueJobs(running=4, waiting=2),
        "x": QueueJobs(running=1, waiting=2),
        "y": QueueJobs(running=3, waiting=0),
    }


def test_unlimited_is_null_and_so_is_what_is_not_counted():
    team = Team(queue("q", quota=-1, limit=6)).runs("q", 2)
    (found,) = queue_list(Moment(team.usage, team.shares(), {}, "now")).items
    assert found.quota == {"cpu": None, "memory": None, "gpu": None}
    assert found.limit == {"cpu": None, "memory": None, "gpu": "6"}
    assert found.fair_share == {"cpu": None, "memory": None, "gpu": "2"}
    assert found.allocated == {"cpu": "0", "memory": "0", "gpu": "2"}
