"""The plots: drawn from what was recorded, and from nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench import plot
from bench.figures import BenchError, Figure
from bench.live.measures import figure_name
from bench.live.scheduler import Scheduler
from bench.live.schedulers import SCHEDULERS
from bench.live.workloads import workload
from bench.planning import growth
from bench.planning.suite import FULL

PANEL = plot.PANELS[0]


def _recorded(**by_scheduler: float) -> dict[str, Figure]:
    made = [_figure(SCHEDULERS[name.replace("_", "-")], value) for name, value in by_scheduler.items()]
    return {figure.name: figure for figure in made}


def _figure(scheduler: Scheduler, value: float) -> Figure:
    name = figure_name(PANEL.measure, workload(PANEL.workload), scheduler.name)
    return Figure(name, "", (value, value * 1.1), configuration=scheduler.configuration)


def test_a_scheduler_without_a_record_has_no_bar():
    assert list(plot.bars(PANEL, _recorded(koordpy=3.0, volcano=1.0))) == ["koordpy", "volcano"]


def test_a_figure_of_another_configuration_has_no_bar():
    other = replace(SCHEDULERS["volcano"], configuration="v0.1")
    figures = _recorded(koordpy=3.0) | {(old := _figure(other, 9.0)).name: old}
    assert list(plot.bars(PANEL, figures)) == ["koordpy"]


def test_what_was_recorded_is_drawn(tmp_path: Path):
    planned = [growth.name_of(FULL.growth_gang, nodes) for nodes in FULL.growth_nodes]
    planned += [growth.name_of(size, FULL.growth_cluster) for size in FULL.growth_sizes]
    plot.draw_schedulers(_recorded(koordpy=3.0, koord_scheduler=1.0), tmp_path / "a.png", "today")
    plot.draw_growth({name: Figure(name, "ms", (1.0,)) for name in planned}, tmp_path / "b.png")
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in ("a.png", "b.png"))


def test_nothing_recorded_is_an_error_that_says_what_to_run(tmp_path: Path):
    with pytest.raises(BenchError, match="python -m bench live"):
        plot.draw_schedulers({}, tmp_path / "a.png", "")
    with pytest.raises(BenchError, match="python -m bench plan"):
        plot.draw_growth({}, tmp_path / "b.png")


def test_the_caption_says_when_and_on_what():
    assert plot.caption(["2026-01-02T03-04-05Z", "2026-01-02T09-00-00Z"], "two cores") == "2026-01-02, two cores"
    assert plot.caption(["2026-01-02T03", "2026-01-05T03"], "m") == "2026-01-02 to 2026-01-05, m"
