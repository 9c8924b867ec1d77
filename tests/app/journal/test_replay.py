"""What a journal promises: every decision comes out the same, and a scheduler that decides otherwise is noticed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from koordpy.app.journal.deliveries import without_foreign_values
from koordpy.app.journal.files import BadJournal, Directory, files_in, read_entries, read_head
from koordpy.app.journal.replay import Outcome, Replay, replay
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.placement import fit
from koordpy.plan.placement.fit import scores
from koordpy.scheduler.answers.advisor import tell
from koordpy.scheduler.queue.queue import JobQueue
from tests.app.journal.world import SETTINGS, World
from tests.builders import node_json, pod, pod_json
from tests.scheduler.wakeups.rig import SCHEDULER

STEPS = 60


def seeds() -> range:
    first, _, last = os.environ.get("JOURNAL_SEEDS", "25").rpartition(":")
    return range(int(first or 0), int(last))


def recorded(seed: int, directory: Path, **given: Any) -> list[Path]:
    """The files of a random world."""
    world = World(seed, directory, **given)
    try:
        world.lead()
        world.play(STEPS)
    finally:
        world.close()
    return files_in(directory)


@contextmanager
def leading(directory: Path) -> Iterator[World]:
    world = World(0, directory)
    try:
        world.lead()
        yield world
    finally:
        world.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (only,) = recorded(0, tmp_path)
    return only


def outcomes(files: list[Path]) -> Iterator[Outcome]:
    return (replay(file, SETTINGS) for file in files)


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds())
def test_every_decision_of_a_random_world_comes_out_the_same(seed: int, tmp_path: Path):
    (outcome,) = outcomes(recorded(seed, tmp_path))
    assert not outcome.difference
    assert outcome.decisions


@pytest.mark.random
@pytest.mark.parametrize("seed", range(5))
def test_each_term_of_leadership_has_a_file_of_its_own(seed: int, tmp_path: Path):
    world = World(seed, tmp_path)
    try:
        for _ in range(3):
            world.lead()
            world.play(STEPS // 2)
            world.step_down()
            world.play(5)  # what happens while another one leads
    finally:
        world.close()
    files = files_in(tmp_path)
    assert len(files) == 3
    assert not any(outcome.difference for outcome in outcomes(files))


@pytest.mark.random
@pytest.mark.parametrize("seed", range(5))
def test_a_full_file_is_followed_by_one_that_can_be_replayed_alone(seed: int, tmp_path: Path):
    world = World(seed, tmp_path, file_bytes=40_000, files=100)
    try:
        world.lead()
        for _ in range(6):
            world.play(20)
            world.rest()
    finally:
        world.close()
    files = files_in(tmp_path)
    assert len(files) > 1
    assert not any(outcome.difference for outcome in outcomes(files))


def test_no_more_files_are_kept_than_allowed(tmp_path: Path):
    world = World(1, tmp_path, files=2)
    try:
        for _ in range(4):
            world.lead()
            world.step_down()
    finally:
        world.close()
    assert [file.name for file in files_in(tmp_path)] == ["journal-00000003.jsonl", "journal-00000004.jsonl"]


def test_a_scheduler_that_places_otherwise_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with leading(tmp_path) as world:
        world.truth.create("nodes", node_json("small", cpu=100))
        world.truth.create("nodes", node_json("large", cpu=1000))
        world.truth.create("pods", pod_json("a", scheduler=SCHEDULER, cpu=50))
        world.rest()
    (file,) = files_in(tmp_path)
    assert not replay(file, SETTINGS).difference
    monkeypatch.setattr(
        fit, "scores", lambda shape, cluster, profile, candidates: -scores(shape, cluster, profile, candidates)
    )
    assert '["decided","start"' in replay(file, SETTINGS).difference


def test_a_scheduler_that_refuses_in_other_words_is_noticed(file: Path, monkeypatch: pytest.MonkeyPatch):
    said = Refusal.__init__

    def in_other_words(self: Refusal, message: str, *args: Any, **given: Any) -> None:
        said(self, message + "!", *args, **given)

    monkeypatch.setattr(Refusal, "__init__", in_other_words)
    assert '!"' in replay(file, SETTINGS).difference


def test_a_scheduler_that_takes_jobs_in_another_order_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (file,) = recorded(3, tmp_path)
    monkeypatch.setattr(JobQueue, "pop", lambda self: None)
    assert "in the replay" in replay(file, SETTINGS).difference


def test_a_difference_names_the_line(file: Path):
    lines = file.read_bytes().splitlines(keepends=True)
    wrong = next(number for number, line in enumerate(lines) if b'["decided","start"' in line)
    lines[wrong] = lines[wrong].replace(b'["decided","start"', b'["decided","begin"')
    file.write_bytes(b"".join(lines))
    assert f"line {wrong + 1}: " in replay(file, SETTINGS).difference


@pytest.mark.parametrize("cut", [1, 10, 100, 1000])
def test_a_last_line_that_was_not_finished_is_no_error(file: Path, cut: int):
    file.write_bytes(file.read_bytes()[:-cut])
    assert not replay(file, SETTINGS).difference


def test_a_line_in_the_middle_that_is_no_entry_is_named(file: Path):
    lines = file.read_bytes().splitlines(keepends=True)
    lines[7] = b"garbage\n"
    file.write_bytes(b"".join(lines))
    with pytest.raises(BadJournal, match="line 8: not an entry"):
        replay(file, SETTINGS)


def test_a_file_of_something_else_is_told_from_a_journal(tmp_path: Path):
    other = tmp_path / "journal-00000001.jsonl"
    other.write_text("hello\n")
    with pytest.raises(BadJournal, match="not a file of a journal"):
        read_head(other)


def test_a_file_of_another_format_is_not_read(file: Path):
    file.write_bytes(file.read_bytes().replace(b'{"journal":1,', b'{"journal":2,', 1))
    with pytest.raises(BadJournal, match="format 2"):
        read_head(file)


def test_a_journal_cannot_be_where_a_file_is(tmp_path: Path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(BadJournal, match="taken: File exists"):
        Directory(tmp_path / "taken", 4)


def test_of_annotations_only_values_about_scheduling_are_kept():
    secret, ours = "kubectl.kubernetes.io/last-applied-configuration", "gang.scheduling.koordinator.sh/min-available"
    given = pod("a", annotations={secret: "PASSWORD=x", ours: "3"})
    assert without_foreign_values(given).metadata.annotations == {secret: "", ours: "3"}


def test_the_environment_of_a_container_is_not_in_the_journal(tmp_path: Path):
    with leading(tmp_path) as world:
        obj = pod_json("a", cpu=1)
        obj["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
        world.truth.create("pods", obj)
        world.rest()
    (file,) = files_in(tmp_path)
    assert b'"name":"a"' in file.read_bytes()
    assert b"hunter2" not in file.read_bytes()


def test_entries_are_flushed_while_a_term_goes_on(tmp_path: Path):
    with leading(tmp_path) as world:
        world.clock.now += 1.1
        world.loop.turn()
        (file,) = files_in(tmp_path)
        assert [entry[0] for _, entry in read_entries(file)].count("start_over") == 1


def test_run_times_that_were_learnt_before_are_part_of_a_file(tmp_path: Path):
    learnt = '{"team/Job/train/0":[60]}'
    with leading(tmp_path) as world:
        world.restore_run_times(learnt)
        world.step_down()
        world.lead()
    first, second = (Replay(file, SETTINGS) for file in files_in(tmp_path))
    for each in (first, second):
        assert not each.run().difference
        assert each.built.parts.learnt.encode() == learnt


def test_run_times_that_cannot_be_read_are_refused_in_the_replay_too(tmp_path: Path):
    with leading(tmp_path) as world, pytest.raises(msgspec.DecodeError):
        world.restore_run_times("garbage")
    (file,) = files_in(tmp_path)
    assert not replay(file, SETTINGS).difference


def test_advice_that_was_given_is_part_of_a_file(tmp_path: Path):
    with leading(tmp_path) as world:
        world.truth.create("pods", pod_json("a", scheduler=SCHEDULER, cpu=5000))
        world.rest()
        parts = world.terms.built.parts
        (ticket,) = (each for each in parts.queue if each.name == "default/a")
        assert ticket.refusal is not None
        key, message = ticket.key, ticket.refusal.message
        world.terms.act(("give_advice", key, message, "; so"), lambda: parts.advice.give(key, message, "; so"))
        assert world.terms.act(("tell_advice", key, message), lambda: tell(parts, key, message)) == 1
        world.rest()
        (condition,) = world.truth.objects["pods"]["default/a"]["status"]["conditions"]
        assert condition["message"].endswith("; so")
    (file,) = files_in(tmp_path)
    assert not replay(file, SETTINGS).difference
    file.write_bytes(file.read_bytes().replace(b'"; so"', b'"; no"'))
    assert '["call","PATCH","/api/v1/namespaces/default/pods/a/status"' in replay(file, SETTINGS).difference


def test_scheduling_goes_on_when_the_directory_is_taken_away(tmp_path: Path):
    with leading(tmp_path / "journal") as world:
        world.step_down()
        shutil.rmtree(tmp_path / "journal")
        world.lead()
        world.truth.create("nodes", node_json("large", cpu=1000))
        world.truth.create("pods", pod_json("a", scheduler=SCHEDULER, cpu=500))
        world.rest()
        assert world.truth.objects["pods"]["default/a"]["spec"]["nodeName"] == "large"
