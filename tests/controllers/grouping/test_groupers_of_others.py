"""Kinds that koordpy does not know: by configuration, as in `examples/grouper`, and by entry point."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import yaml

from koordpy.app.configfile import BadConfig, read_settings
from koordpy.app.process import CannotStart, expansion
from koordpy.controllers.grouping import configured
from koordpy.plugin import Gang, MalformedValue, Workload, WorkloadGrouper, count_at

EXAMPLE = Path(__file__).parents[3] / "examples" / "grouper"
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def config(tmp_path: Path, groupers: str) -> str:
    path = tmp_path / "config.yaml"
    path.write_text(f"{HEAD}koordpy: {{podGrouper: {{groupers: [{groupers}]}}}}\n")
    return str(path)


async def test_the_example_makes_a_gang_of_an_invented_kind(world):
    settings, _ = read_settings(str(EXAMPLE / "config.yaml"))
    definition, simulation = (
        yaml.safe_load((EXAMPLE / name).read_text()) for name in ("definition.yaml", "simulation.yaml")
    )
    await world.install(definition)
    async with world.grouper(settings):
        owner = await world.api.ask("POST", world.path("Simulation"), simulation)
        await world.pod("weather-0", owner)
        await world.spec_becomes("weather-0", minMember=6)
        await world.change("Simulation", "weather", {"spec": {"minWorkers": None}})
        await world.spec_becomes("weather-0", minMember=8)


async def test_parts_of_a_configured_kind_are_subgroups(embedded, tmp_path):
    parts = """{group: example.com, kind: Simulation, subGroups: [
        {name: driver, replicas: 1, labels: {role: driver}},
        {name: workers, replicas: spec.workers, minimum: spec.least, labels: {role: worker}}]}"""
    settings, _ = read_settings(config(tmp_path, parts))
    async with embedded.grouper(settings):
        owner = await embedded.owner("Simulation", "sim", {"workers": 4, "least": 2})
        await embedded.pod("sim-driver", owner, labels={"role": "driver"})
        await embedded.pod("sim-0", owner, labels={"role": "worker"})
        spec = await embedded.spec_becomes("sim-0", minMember=3)
        assert spec["subGroups"] == [{"name": "driver", "minMember": 1}, {"name": "workers", "minMember": 2}]
        assert await embedded.subgroup_of("sim-driver") == "driver"


async def test_a_configured_kind_that_asks_for_more_than_there_are_is_told(embedded):
    settings, _ = read_settings(str(EXAMPLE / "config.yaml"))
    async with embedded.grouper(settings):
        owner = await embedded.owner("Simulation", "sim", {"workers": 3, "minWorkers": 9})
        await embedded.pod("sim-0", owner)
        assert "spec.minWorkers: 9 is more than the 3 replicas" in (await embedded.warnings("sim"))[0]
        await embedded.stays_ungrouped("sim-0")


async def test_a_configured_kind_without_its_number_is_not_understood(embedded, tmp_path):
    settings, _ = read_settings(config(tmp_path, "{group: example.com, kind: Simulation, replicas: spec.workers}"))
    async with embedded.grouper(settings):
        owner = await embedded.owner("Simulation", "sim", {"workers": "four"})
        await embedded.pod("sim-0", owner)
        assert "spec.workers: 'four'" in (await embedded.warnings("sim"))[0]
        await embedded.stays_ungrouped("sim-0")


def test_what_if_groups_by_the_kinds_of_the_configuration_too(tmp_path):
    settings, _ = read_settings(config(tmp_path, "{group: batch, kind: Job, minimum: spec.parallelism}"))
    template = {"spec": {"containers": []}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    made = expansion(settings.grouping)({**job, "spec": {"parallelism": 3, "template": template}}, ())
    (group,) = (each for each in made or () if each is not None and each["kind"] == "PodGroup")
    assert group["spec"]["minMember"] == 3


@pytest.mark.parametrize(
    ("groupers", "named"),
    [
        ("{group: a, kind: B}", "neither replicas nor minimum nor subGroups"),
        ("{group: a, kind: '', replicas: 1}", "groupers[0].kind"),
        ("{group: a, kind: B, replicas: workers}", "groupers[0].replicas"),
        ("{group: a, kind: B, replicas: 1, size: 2}", "size"),
        ("{group: a, kind: B, replicas: 1}, {group: a, kind: B, replicas: 2}", "stands there twice"),
        ("{group: a, kind: B, subGroups: [{name: x, replicas: 1, labels: {}}]}", "subGroups[0].labels"),
    ],
)
def test_a_mistake_in_the_configuration_is_named(tmp_path, groupers, named):
    with pytest.raises(BadConfig) as error:
        read_settings(config(tmp_path, groupers))
    assert named in str(error.value)


@dataclass
class Simulations:
    """As a package of others would have it."""

    group: str = "example.com"
    kind: str = "Simulation"

    def gangs(self, workload: Workload) -> list[Gang]:
        pairs = count_at(workload.owner.body, "spec.pairs")
        if pairs is None:
            raise MalformedValue("spec.pairs", None, "is missing")
        return [Gang(workload.pods, minimum=2 * pairs)]


def offer(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    point = EntryPoint("simulations", f"{__name__}:{target}", configured.ENTRY_POINTS)
    monkeypatch.setattr(configured, "entry_points", lambda group: [point] if group == configured.ENTRY_POINTS else [])


async def test_an_entry_point_of_another_package_is_asked(embedded, monkeypatch):
    assert isinstance(Simulations(), WorkloadGrouper)
    offer(monkeypatch, "Simulations")
    async with embedded.grouper():
        owner = await embedded.owner("Simulation", "sim", {"pairs": 3})
        await embedded.pod("sim-0", owner)
        await embedded.spec_becomes("sim-0", minMember=6)


@pytest.mark.parametrize("target", ["HEAD", "nowhere"])
async def test_an_entry_point_that_cannot_be_used_stops_the_start_with_one_line(embedded, monkeypatch, target):
    offer(monkeypatch, target)
    with pytest.raises(CannotStart, match="simulations"):
        async with embedded.grouper():
            pass
