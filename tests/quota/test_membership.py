"""Which queue a job is in."""

from __future__ import annotations

import pytest

from koordpy.quota.membership import Names, QueueReason, Refused, queue_of
from koordpy.quota.tree import QueueTree, tree_of
from tests.quota.building import queue

TREE = tree_of([queue("top"), queue("a", "top"), queue("b", "top"), queue("lost", "gone"), queue("default-queue")])


def name_of(tree: QueueTree, *names: Names, default: str = "default-queue") -> str | Refused | None:
    found = queue_of([(f"ns/g{number}", each) for number, each in enumerate(names)], tree, default)
    return tree.names[found] if isinstance(found, int) else found


@pytest.mark.parametrize(
    ("names", "queue_name"),
    [
        (Names(spec="a", object_label="b", member_label="lost"), "a"),
        (Names(object_label="b", member_label="a"), "b"),
        (Names(member_label="a"), "a"),
        (Names(), "default-queue"),
    ],
)
def test_the_podgroups_spec_counts_then_its_label_then_the_oldest_members_then_the_default(
    names: Names, queue_name: str
):
    assert name_of(TREE, names) == queue_name


def test_a_default_queue_that_does_not_exist_leaves_jobs_outside():
    assert name_of(TREE, Names(), default="other") is None


def test_without_any_queue_every_job_is_outside_whatever_it_names():
    assert name_of(tree_of([]), Names(spec="a")) is None


def test_a_queue_that_is_named_and_does_not_exist_keeps_the_job_waiting():
    assert name_of(TREE, Names(spec="x")) == Refused(QueueReason.MISSING, "queue x does not exist")


def test_a_queue_whose_name_is_misspelt_is_named():
    tree = tree_of([queue("research")])
    told = Refused(QueueReason.MISSING, "queue reserch does not exist; did you mean research?")
    assert name_of(tree, Names(spec="reserch")) == told


def test_only_leaves_take_jobs():
    message = "queue top takes no jobs, because it has queues below it: a, b"
    assert name_of(TREE, Names(spec="top")) == Refused(QueueReason.NOT_LEAF, message)


def test_a_queue_that_is_not_ready_takes_no_jobs():
    message = "queue lost is not ready: parent queue gone does not exist"
    assert name_of(TREE, Names(spec="lost")) == Refused(QueueReason.BROKEN, message)


def test_gangs_that_start_together_have_to_be_in_one_queue():
    message = "gangs that start together have to be in one queue: ns/g0 is in a, ns/g1 is in b"
    assert name_of(TREE, Names(spec="a"), Names(member_label="b")) == Refused(QueueReason.MISSING, message)
    assert name_of(TREE, Names(spec="a"), Names(member_label="a")) == "a"
