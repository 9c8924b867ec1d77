"""`koordpy demo`, as a newcomer runs it; the words and the bookkeeping behind it, without a cluster."""

import io
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from koordpy.api.pod import Pod
from koordpy.api.podgroup.coscheduling import PodGroup
from koordpy.sim import shell
from koordpy.sim.demo.gangs import gang_story
from koordpy.sim.demo.screen import Screen
from koordpy.sim.demo.seen import NodeSink, PodGroupSink, PodSink, Seen
from koordpy.sim.demo.view import Place
from koordpy.sim.demo.words import names
from tests.builders import node, pod_json, typed
from tests.cli.commands import child_of, ended_by, exists, koordpy, started

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def told() -> subprocess.CompletedProcess[str]:
    return koordpy("demo")


def test_in_a_pipe_it_ends_by_itself(told):
    assert (told.returncode, told.stderr) == (0, "")


def scene(told: subprocess.CompletedProcess[str], title: str) -> str:
    """All that is told in a scene, in one line."""
    return " ".join(told.stdout.partition(f"--- {title} ---\n")[2].partition("\n\n")[0].split())


def test_a_pytorchjob_becomes_a_gang(told):
    text = scene(told, "a PyTorchJob becomes a gang")
    assert "grouper PodGroup pg-mnist-… was made for it: 4 start together (master 1, worker 3)" in text
    assert "mnist-master-0, mnist-worker-0…2 on 4 nodes" in text


def test_a_team_takes_back_what_is_its_quota_and_gives_it_back_when_its_burst_is_over(told):
    text = scene(told, "two teams, a burst and a reclaim")
    research, serving = (
        re.findall(rf"queue {name} +quota +\d+, share +(\d+), has +(\d+)", text) for name in ("research", "serving")
    )
    assert research == [("16", "16"), ("12", "12"), ("16", "16")]
    assert serving == [("0", "0"), ("4", "4"), ("0", "0")]
    assert "queue serving takes back what others have above their quota" in text


def test_a_queuejob_that_loses_a_pod_is_made_again_as_a_whole(told):
    text = scene(told, "a QueueJob is restarted as a whole")
    assert "fit is Restarting, restart 1: pod fit-worker-1-0 is being deleted" in text
    assert "fit is Completed: 0 running, 3 succeeded, 1 restart, incarnation 1" in text


def test_a_large_job_is_promised_a_start_and_told_when_it_has_it(told):
    text = scene(told, "a reserved start, and who may run before it")
    assert "large is promised a start at" in text
    assert "large has all its nodes" in text


def test_what_would_start_a_waiting_job_is_the_schedulers_own_answer(told):
    text = told.stdout.partition("$ koordpy explain default/huge\n")[2]
    assert text.startswith("default/huge  Gang, Pending (")
    assert "MinimumLowered: the minimum of gang default/huge is lowered from 6 to 4" in text


def test_scenes_fit_80_columns(told):
    scenes = told.stdout.partition("\n--- ")[2].partition("\nWhat happened, and why\n")[0].splitlines()
    assert [line for line in scenes if len(line) > 80] == []


def test_the_live_view_of_a_scene_shows_its_own_workloads_and_what_it_tells():
    world = World()
    world.gang(1)
    world.pod("g-1", says="1 of 2 members fit")
    console = Console(record=True, width=80, height=24, file=io.StringIO())
    screen = Screen(console)
    screen.open(world.seen, "a scene", ["other"])
    screen.tell(world.seen, "queue", "research has 16")
    console.print(screen.picture(world.seen))
    text = console.export_text()
    assert "a scene ─" in text
    assert "queue     research has 16" in text
    assert "g-1" not in text.partition("last events")[0]


def in_one_line(told: subprocess.CompletedProcess[str]) -> str:
    return " ".join(told.stdout.split())


def test_a_gang_waits_as_a_whole_while_there_is_room_for_some_of_it_and_starts_as_a_whole(told):
    text = in_one_line(told)
    assert (
        "gang default/train: 4 of 8 members fit, default/train-5 does not beside these 4.” It held nothing: meanwhile"
        in text
    )
    assert together_s(text, 8) < 1
    assert "Its PodGroup is Finished: 8 of 8 succeeded." in text


def test_a_gang_that_is_incomplete_starts_with_its_last_member(told):
    text = in_one_line(told)
    assert "mpi-1…3: gang default/mpi is incomplete: 3 of 4 members" in text
    assert together_s(text, 4) < 1


def together_s(text: str, members: int) -> float:
    (seconds,) = re.findall(rf"All {members} were bound within ([0-9.]+) s", text)
    return float(seconds)


def test_a_gang_that_is_too_big_stays_with_its_reason(told):
    text = in_one_line(told)
    assert re.search(
        r"gang default/huge: [0-4] of 6 members fit, default/huge-\d does not[^”]*”\s+It holds nothing", text
    )
    assert "Empty, all nodes together have room for 4 of the 6: more nodes can help, or a lower minimum." in text
    assert "Its PodGroup is PreScheduling: 0 of 6 scheduled." in text


def test_the_phases_of_pod_groups_are_told_as_they_come(told):
    lines = [line.split("  podgroup  ")[1] for line in told.stdout.splitlines() if "  podgroup  " in line]
    assert "huge is PreScheduling: 0 of 6 scheduled" in lines
    assert lines.index("mpi is Pending: 0 of 4 scheduled") < lines.index("mpi is Finished: 4 of 4 succeeded")
    assert "train is Running: 8 of 8 running" in lines


def test_single_pods_need_not_wait_for_each_other(told):
    text = in_one_line(told)
    assert "20 found room at once, on 20 nodes. batch-21…23 had to wait" in text
    assert "4 node(s) had untolerated taint(s)" in text
    assert text.count("All have finished.") == 3


def test_a_gang_of_high_priority_makes_one_job_leave_and_nobody_else(told):
    assert "  evicted   scan-1,2, to make room for default/deploy\n" in told.stdout
    text = in_one_line(told)
    assert "preemption: found a potential placement for all members, preempting 2 victims on 2 nodes" in text
    assert "All 2 had to leave for default/deploy." in text
    assert "the moment scan-1,2 left. scan-1,2 had to leave for it, and nobody else." in text
    assert "Its PodGroup is Finished: 2 of 2 succeeded." in text


def test_a_gang_that_must_be_below_one_spine_gets_the_one_that_it_fills_and_is_shown_in_the_tree(told):
    assert "It was gathered in SpineLayer spine-2, score 1." in in_one_line(told)
    lines = [" ".join(line.split()) for line in told.stdout.splitlines()]
    at = lines.index("net cluster")
    assert lines[at + 1 : at + 4] == [
        "├─ spine-1 leaf-1 □□□□□ leaf-2 □□□□",
        "├─ spine-2 leaf-3 ■■■ leaf-4 ■■■ ■ ring",
        "└─ spine-3 leaf-5 □□□ leaf-6 □□",
    ]


def test_the_closing_text_fits_80_columns(told):
    closing = told.stdout.partition("\nWhat happened, and why\n")[2].splitlines()
    assert "  kubectl --kubeconfig kubeconfig get nodes" in closing
    assert [line for line in closing if len(line) > 80 and "export PATH=" not in line] == []


def test_a_shell_that_does_not_find_koordpy_is_told_where_it_is(monkeypatch):
    monkeypatch.setattr(shell.shutil, "which", lambda _: None)
    directory = shell.path_line().split("=")[1].removesuffix(":$PATH\n")
    assert (Path(directory) / "koordpy").is_file()
    monkeypatch.setattr(shell.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert shell.path_line() == ""


def test_the_commands_to_go_on_with_fit_80_columns():
    place = Place(Path("/tmp/koordpy-demo-12345678"), "http://127.0.0.1:65535")
    lines = "\n".join(f"  {command}" for command in place.commands()).splitlines()
    assert [line for line in lines if len(line) > 80] == []


def wait_for(process, word: str) -> None:
    for line in process.stdout:
        if word in line:
            return
    raise AssertionError(f"{word!r} was never printed: {process.stderr.read()}")


def test_an_interrupt_ends_it_and_its_scheduler():
    with started("demo") as demo:
        wait_for(demo, "holds its lease")
        scheduler = child_of(demo)
        assert ended_by(demo, signal.SIGINT) == (0, "")
    assert not exists(scheduler)


def test_a_scheduler_that_dies_is_reported_with_its_log():
    with started("demo") as demo:
        wait_for(demo, "  bound  ")  # by then the scheduler has logged that it leads
        os.kill(child_of(demo), signal.SIGKILL)
        _, errors = demo.communicate(timeout=60)
    assert demo.returncode == 1
    assert errors.startswith("koordpy: the scheduler (koordpy run) ended by signal 9; the end of its log:\n")
    assert "leading" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("pods", "folded"),
    [
        (["a-1", "a-2", "a-3"], "a-1…3"),
        (["a-1", "a-2"], "a-1,2"),
        (["a-10", "a-9", "b-1"], "a-9,10, b-1"),
        (["mine"], "mine"),
    ],
)
def test_numbered_names_are_folded(pods, folded):
    assert names(pods) == folded


class World:
    """What is seen when the API says these things at these times."""

    def __init__(self) -> None:
        self.now = 0.0
        self.seen = Seen(clock=lambda: self.now)
        self._pods = PodSink(self.seen)

    def node(self, name: str, cpu: int) -> None:
        NodeSink(self.seen).upsert(node(name, cpu=cpu))

    def gang(self, minimum: int, **status: str | int) -> None:
        body = {"metadata": {"namespace": "default", "name": "g"}, "spec": {"minMember": minimum}, "status": status}
        PodGroupSink(self.seen).upsert(typed(body, PodGroup))

    def pod(self, name: str, *, cpu: int = 1, gang: bool = True, on: str = "", phase: str = "", says: str = "") -> None:
        obj = pod_json(name, cpu=cpu, node=on, labels={"pod-group.scheduling.sigs.k8s.io": "g"} if gang else {})
        refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": says}
        obj["status"] = {"phase": phase, "conditions": [refused] if says else []}
        obj["metadata"]["uid"] = name
        self._pods.upsert(typed(obj, Pod))

    def story(self) -> str:
        return gang_story(self.seen, [pod for pod in self.seen.pods.values() if pod.gang])


def test_a_gang_is_said_to_start_when_its_last_member_comes():
    world = World()
    world.gang(2)
    world.pod("g-1", says="gang default/g is incomplete: 1 of 2 members")
    world.now = 3.0
    world.pod("g-2")
    world.now = 3.1
    world.pod("g-1", on="n")
    world.pod("g-2", on="n")
    assert "All 2 were bound within 0.01 s, the moment g-2 came." in world.story()


def test_a_gang_is_said_to_start_when_others_have_made_room():
    world = World()
    world.gang(2)
    world.pod("other", gang=False, on="n")
    world.pod("g-1", says="1 of 2 members fit")
    world.pod("g-2", says="1 of 2 members fit")
    world.now = 3.0
    world.pod("other", gang=False, on="n", phase="Succeeded")
    world.now = 3.1
    world.pod("g-1", on="n")
    world.pod("g-2", on="n")
    assert "All 2 were bound within 0.01 s, the moment other ended." in world.story()


def test_a_gang_that_starts_in_parts_is_not_said_to_start_at_once():
    world = World()
    world.gang(2)
    world.pod("g-1", on="n")
    world.now = 5.0
    world.pod("g-2", on="n")
    assert "All 2 were bound within 5.00 s." in world.story()


def test_a_gang_that_other_pods_could_make_room_for_is_not_called_too_big():
    world = World()
    world.node("n", cpu=2)
    world.gang(2)
    world.pod("g-1", says="1 of 2 members fit")
    world.pod("g-2", says="1 of 2 members fit")
    assert "more nodes can help" not in world.story()
    world.gang(3)
    assert "have room for 2 of the 3: more nodes can help, or a lower minimum" in world.story()


def test_the_live_view_shows_who_of_a_gang_is_missing_and_what_its_pod_group_says():
    world = World()
    world.gang(3, phase="Pending")
    world.pod("g-1", says="gang default/g is incomplete: 2 of 3 members")
    world.pod("g-2", says="gang default/g is incomplete: 2 of 3 members")
    console = Console(record=True, width=100, height=30, file=io.StringIO())
    console.print(Screen(console).picture(world.seen))
    text = console.export_text()
    assert "g  ■■□  Pending: 0 of 3 scheduled" in text
    assert "g-1,2  gang default/g is incomplete: 2 of 3 members" in text
