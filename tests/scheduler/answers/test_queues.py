"""Answers about jobs of queues: limits and quotas that are in the way, missing queues, and the tree itself."""

from __future__ import annotations

import asyncio

from koordpy.api import answers
from koordpy.controllers.grouping.expansion import expanded
from koordpy.scheduler.answers.answering import Answering
from tests.scheduler.queues.rig import QueueRig


def answering(rig: QueueRig) -> Answering:
    built = rig.built
    return Answering(built.parts, built.book, built.throttle, built.schedulers, expand=expanded)


def explained(rig: QueueRig, name: str) -> answers.Explanation:
    return asyncio.run(answering(rig).explain("default", name))


def of_kind(explanation: answers.Explanation, kind: type):
    return next((each for each in explanation.changes if isinstance(each, kind)), None)


def test_a_limit_in_the_way_is_named_with_what_would_do():
    rig = QueueRig()
    rig.node("n", cpu=8)
    rig.has_queue("a", cpu=(1, 2))
    rig.jobs_of("a", 3)
    rig.settle()
    (waiting,) = asyncio.run(answering(rig).jobs()).items
    assert (waiting.queue, waiting.reason) == ("a", "QueueLimit")
    found = explained(rig, waiting.name)
    raised = of_kind(found, answers.LimitRaised)
    assert (raised.queue, raised.resource, raised.from_, raised.to) == ("a", "cpu", "2", "3")
    assert found.in_the_way[0].kind == "Queue"
    assert of_kind(found, answers.JobEnds) is not None
    assert of_kind(found, answers.NodeAdded) is None


def test_a_quota_that_work_for_ever_would_exceed_is_named():
    rig = QueueRig()
    rig.node("n", cpu=8)
    rig.has_queue("a", cpu=(1, -1))
    rig.job("fixed-1", "a", priority=200)
    rig.job("fixed-2", "a", priority=200)
    rig.settle()
    (waiting,) = asyncio.run(answering(rig).jobs()).items
    assert waiting.reason == "QueueQuota"
    raised = of_kind(explained(rig, waiting.name), answers.QuotaRaised)
    assert (raised.queue, raised.from_, raised.to) == ("a", "1", "2")


def test_a_queue_that_does_not_exist_can_be_created():
    rig = QueueRig()
    rig.node("n", cpu=8)
    rig.has_queue("a", cpu=(1, -1))
    rig.job("lost", "nowhere")
    rig.settle()
    found = explained(rig, "lost")
    assert found.job.reason == "QueueMissing"
    assert of_kind(found, answers.QueueCreated).queue == "nowhere"


def test_jobs_of_two_queues_take_turns_in_the_list():
    rig = QueueRig()
    rig.node("n", cpu=4)
    rig.has_queue("a", cpu=(0, -1))
    rig.has_queue("b", cpu=(0, -1))
    rig.jobs_of("a", 2)
    rig.jobs_of("b", 2)
    listed = asyncio.run(answering(rig).jobs()).items
    assert [job.position for job in listed] == [1, 2, 3, 4]
    assert [job.queue for job in listed] == ["a", "b", "a", "b"]


def test_the_tree_is_shown_with_parents_first():
    rig = QueueRig()
    rig.node("n", cpu=4)
    rig.has_queue("top", cpu=(4, -1))
    rig.has_queue("leaf", parent="top", cpu=(2, 3))
    rig.jobs_of("leaf", 2)
    rig.settle()
    top, leaf = asyncio.run(answering(rig).queues()).items
    assert (top.name, top.parent, leaf.name, leaf.parent) == ("top", None, "leaf", "top")
    assert (leaf.quota["cpu"], leaf.limit["cpu"], leaf.allocated["cpu"]) == ("2", "3", "2")
    assert top.limit["cpu"] is None
    assert (leaf.jobs.running, leaf.jobs.waiting) == (top.jobs.running, top.jobs.waiting) == (2, 0)
    assert (leaf.weight["cpu"], leaf.weight["gpu"]) == ("1", None)  # it counts no GPUs
