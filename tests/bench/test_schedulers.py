"""The configurations of the schedulers: what is said about each is what it is run with, and is in the docs."""

from pathlib import Path

import pytest
import yaml

from bench.live import framework, kai, volcano
from bench.live.framework import AS_SHIPPED, Tuning
from bench.live.objects import Json
from bench.live.scheduler import Scheduler, Site
from bench.live.schedulers import FULL, QUICK, SCHEDULERS
from bench.peers.build import Built

DOCS = Path(__file__).parents[2] / "docs" / "benchmarks.md"
TUNED = Tuning(gates={"AGate": False, "Another": True}, skips=("preBind",), nodes_to_score=10, gogc=400)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    beside = {name: Path(f"/peers/{name}") for name in ("binder", "podgrouper")}
    built = Built(Path("/peers/program"), tmp_path, beside)
    monkeypatch.setattr(framework, "build_peer", lambda _: built)
    monkeypatch.setattr(volcano, "build_peer", lambda _: built)
    monkeypatch.setattr(kai, "build_peer", lambda _: built)
    return Site(tmp_path, tmp_path / "kubeconfig", "https://127.0.0.1:1", tmp_path / "ca", "default")


def _configuration(command: list[str]) -> Json:
    (path,) = [part.removeprefix("--config=") for part in command if part.startswith("--config=")]
    found: Json = yaml.safe_load(Path(path).read_text())
    return found


def test_every_setting_of_a_tuning_reaches_the_scheduler_and_its_text(site: Site):
    command = framework.koord_scheduler(site, TUNED)
    configuration = _configuration(command)
    assert command[:3] == ["/usr/bin/env", "GOGC=400", "/peers/program"]
    assert "--feature-gates=AGate=false,Another=true" in command
    assert configuration["percentageOfNodesToScore"] == 10
    assert "preBind" not in configuration["profiles"][0]["plugins"]
    assert str(TUNED) == (
        "feature gate AGate off, feature gate Another on, Coscheduling not at preBind, "
        "percentageOfNodesToScore 10, GOGC 400"
    )


def test_a_scheduler_as_shipped_has_no_setting_for_speed(site: Site):
    command = framework.koord_scheduler(site, AS_SHIPPED)
    configuration = _configuration(command)
    assert command[0] == "/peers/program"
    assert not [part for part in command if part.startswith("--feature-gates")]
    assert configuration["percentageOfNodesToScore"] == 0
    assert configuration["profiles"][0]["plugins"]["preBind"] == {"enabled": [{"name": "Coscheduling"}]}
    assert str(AS_SHIPPED) == "no setting for speed"


def test_every_setting_of_volcano_reaches_it_and_its_text(site: Site):
    tuned = volcano.Tuning(period_ms=100, nodes_to_find=10, gogc=400)
    command = volcano.volcano(site, tuned)
    assert command[:3] == ["/usr/bin/env", "GOGC=400", "/peers/program"]
    assert {"--schedule-period=100ms", "--percentage-nodes-to-find=10"} <= set(command)
    assert str(tuned) == "schedule-period 100 ms, percentage-nodes-to-find 10, GOGC 400"
    assert str(volcano.Tuning()) == "no setting for speed"


def test_volcano_reclaims_only_where_it_is_told_to(site: Site):
    def actions(tuning: volcano.Tuning) -> list[str]:
        (path,) = [p.partition("=")[2] for p in volcano.volcano(site, tuning) if p.startswith("--scheduler-conf=")]
        configuration: Json = yaml.safe_load(Path(path).read_text())
        return str(configuration["actions"]).split(", ")

    assert "reclaim" in actions(volcano.Tuning(reclaims=True))
    assert "reclaim" not in actions(volcano.Tuning())
    assert str(volcano.Tuning(reclaims=True)) == "action reclaim"


def test_every_setting_of_kai_reaches_its_programs_and_its_text(site: Site):
    tuned = kai.Tuning(period_ms=100, reconciles=50, gogc=400)
    scheduler, grouper = kai.scheduler(site, tuned), kai.grouper(site, tuned)
    (binder,) = [command(site) for command in kai.beside(tuned).values()]
    assert "--schedule-period=100ms" in scheduler
    for command, program in ((scheduler, "program"), (grouper, "podgrouper"), (binder, "binder")):
        assert command[:4] == ["/usr/bin/env", f"KUBECONFIG={site.kubeconfig}", "GOGC=400", f"/peers/{program}"]
    assert all("--max-concurrent-reconciles=50" in command for command in (grouper, binder))
    assert str(tuned) == "schedule-period 100 ms, max-concurrent-reconciles 50, GOGC 400"
    assert str(kai.Tuning()) == "no setting for speed"


def test_no_two_variants_of_a_scheduler_have_the_same_configuration():
    peers = [
        each.configuration for name, each in SCHEDULERS.items() if name.startswith(("kube", "koord-", "volcano", "kai"))
    ]
    assert len(peers) == len(set(peers))


def test_what_is_run_by_default_exists():
    assert {*QUICK, *FULL} <= SCHEDULERS.keys()


@pytest.mark.parametrize("scheduler", SCHEDULERS.values(), ids=list(SCHEDULERS))
def test_the_docs_say_in_which_configuration_a_scheduler_runs(scheduler: Scheduler):
    assert f"| `{scheduler.name}` | {scheduler.configuration} |" in DOCS.read_text()
