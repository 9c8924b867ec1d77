"""The pure parts: names, hashes and quotas. What they decide together is in the stories."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from koordpy.api.decode import Decoder
from koordpy.api.queuejob import QueueJob, QueueJobStatus
from koordpy.controllers.queuejob.decide import backoff_end
from koordpy.controllers.queuejob.names import (
    Name,
    Slot,
    pod_name,
    read_indexes,
    read_name,
    template_hash,
    write_indexes,
)
from koordpy.controllers.queuejob.problems import problems
from koordpy.controllers.queuejob.quota import exceeded_by, used_by, would_refuse
from tests.controllers.queuejob.world import job, task

_WORD = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)


def decoded(body: dict) -> QueueJob:
    return Decoder("QueueJob", QueueJob)(msgspec.json.encode(body))


@given(_WORD, _WORD, st.integers(0, 99), st.integers(0, 99))
def test_a_name_is_read_back_as_it_was_given(name: str, task_name: str, index: int, incarnation: int):
    slot = Slot(task_name, index)
    assert read_name(name, pod_name(name, slot, incarnation)) == Name(slot, incarnation)


@pytest.mark.parametrize("name", ["other-w-0-0", "j", "j-w", "j-w-0", "j-w-00-0", "j-w-x-0"])
def test_a_name_that_was_never_given_is_none(name: str):
    assert read_name("j", name) is None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("0-999999999", 100_000),
        (",".join(["0-99999"] * 1000), 100_000),
        ("0-" + "9" * 5000, 0),
        ("9" * 5000 + ",3", 1),
        ("5-3,x,-,7-", 0),
    ],
    ids=["a long range", "many ranges", "a long number", "a long number alone", "no numbers"],
)
def test_no_more_indexes_are_read_than_a_task_may_have(text: str, read: int):
    assert sum(1 for _ in read_indexes(text)) == read


@given(st.frozensets(st.integers(0, 60)))
def test_indexes_are_read_back_as_they_were_written(indexes: frozenset[int]):
    assert set(read_indexes(write_indexes(indexes))) == indexes


def test_indexes_are_written_as_an_indexed_job_does():
    assert write_indexes([7, 0, 2, 1, 3]) == "0-3,7"


def test_the_hash_of_templates_is_what_earlier_versions_have_written():
    """Another value would make every QueueJob that runs anew, on the day of the upgrade."""
    assert template_hash(decoded(job("j", task("w", 2))).spec) == "35d35dc020c4253e"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (job("j", task("w", 2)), job("j", task("w", 5)), True),
        (job("j", task("w", 2)), job("k", task("w", 2), minimum=1, suspend=True), True),
        (job("j", task("w", 2)), job("j", task("x", 2)), False),
        (job("j", task("w", 2)), job("j", task("w", 2, image="other")), False),
        (job("j", task("a"), task("b")), job("j", task("b"), task("a")), False),
        (job("j", task("w", 2)), job("j", task("w", 2), network="Hostnames"), False),
        (job("j", task("w", 2)), job("j", task("w", 2), schedulerName="other"), False),
    ],
)
def test_the_hash_differs_by_what_pods_are_made_of(one: dict, other: dict, same: bool):
    assert (template_hash(decoded(one).spec) == template_hash(decoded(other).spec)) is same


@pytest.mark.parametrize(
    ("restarts", "pause_s"), [(0, 0), (1, 0), (2, 10), (3, 20), (4, 40), (6, 160), (7, 300), (99, 300)]
)
def test_the_first_restart_is_at_once_and_later_ones_back_off_to_five_minutes(restarts: int, pause_s: float):
    status = QueueJobStatus(restarts=restarts, last_restart_time="1970-01-01T00:00:00Z")
    assert backoff_end(status) == pause_s


# --- problems ---


UNUSABLE = {
    "spec.schedSpec.minAvailable is 3, and all taskSpecs together have 2 replicas": job("j", task("w", 2), minimum=3),
    "two of spec.taskSpecs have the name w": job("j", task("w"), task("w")),
    "two of spec.taskSpecs have the name task1": job("j", task("task1"), task()),
    "spec.schedulingSpec is the older name of spec.schedSpec: give one of them": job(
        "j", task("w"), minimum=1, schedulingSpec={}
    ),
    "spec.taskSpecs[0].selector does not select the labels of its template": job(
        "j", task("w", selector={"matchLabels": {"app": "b"}})
    ),
    "spec.taskSpecs[0].template.spec.containers has no containers": job("j", {"name": "w", "template": {}}),
    "metadata.name has 64 characters, and may have 63": job("j" * 64, task("w")),
    "metadata.name is my.job: with network: Hostnames it is the name of a Service, and may have no dots": job(
        "my.job", task("w"), network="Hostnames"
    ),
    f"the hostname {'j' * 60}-worker-0 has more than 63 characters: shorten the job's or task's name": job(
        "j" * 60, task("worker"), network="Hostnames"
    ),
}


@pytest.mark.parametrize("problem", UNUSABLE)
def test_a_spec_that_cannot_be_used_names_field_and_value(problem: str):
    assert problems(decoded(UNUSABLE[problem])) == [problem]


def test_without_hostnames_a_name_with_dots_is_no_problem():
    assert problems(decoded(job("my.job", task("w")))) == []


def test_a_selector_that_selects_the_template_is_no_problem():
    assert problems(decoded(job("j", task("w", selector={"matchLabels": {"app": "a"}})))) == []


# --- quotas ---

REFUSED = 'pods "j" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1,requests.cpu=2, used: requests.nvidia.com/gpu=4, limited: requests.nvidia.com/gpu=4'  # noqa: E501


def test_a_refusal_names_its_quota_and_the_resources_that_are_used_up():
    assert exceeded_by(REFUSED) == ("gpus", {"requests.nvidia.com/gpu", "requests.cpu"})


def test_a_refusal_for_another_reason_is_none_of_a_quota():
    assert exceeded_by('pods "j" is forbidden: no PriorityClass with name x was found') is None


def test_a_quota_holds_back_pods_that_use_what_is_used_up_and_no_others():
    refused = frozenset({"requests.nvidia.com/gpu"})
    with_gpu = {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}}
    assert would_refuse(refused, used_by(with_gpu))
    assert not would_refuse(refused, used_by({"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}))
    assert would_refuse(frozenset({"pods"}), used_by({"spec": {"containers": [{}]}}))
