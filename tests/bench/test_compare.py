"""Two checkouts side by side: what runs is what was asked for, and only what stands out of the spread counts."""

import subprocess
from pathlib import Path

import pytest

from bench.figures import BenchError, Figure
from bench.live.compare import AGAINST, BETTER, ROOT, SAME, WORSE, checkout, report, verdict
from bench.live.measures import RATE, Measure, measures
from bench.live.rounds import OURS, Problem, Result
from bench.live.scheduler import Site
from bench.live.workloads import basic

TIME = Measure("time", "s", lambda _: 0.0)
BASIC = basic(node_count=4, pods=40)


def _figures(*samples: float) -> Figure:
    return Figure("a", "", samples)


def _site(directory: Path) -> Site:
    return Site(directory, directory / "kubeconfig", "https://127.0.0.1:1", directory / "ca", "default")


@pytest.mark.parametrize(
    ("measure", "ours", "theirs", "expected"),
    [
        (TIME, (1.0, 3.0), (2.0, 2.5), SAME),
        (TIME, (1.0, 2.0), (2.0, 3.0), SAME),  # they touch
        (TIME, (2.0, 3.0), (1.0, 2.0), SAME),
        (TIME, (3.1, 4.0), (1.0, 3.0), WORSE),
        (TIME, (1.0, 1.5), (2.0, 3.0), BETTER),
        (RATE, (3.1, 4.0), (1.0, 3.0), BETTER),
        (RATE, (1.0, 1.5), (2.0, 3.0), WORSE),
    ],
)
def test_only_spreads_that_do_not_overlap_are_different(
    measure: Measure, ours: tuple[float, ...], theirs: tuple[float, ...], expected: str
):
    assert verdict(measure, _figures(*ours), _figures(*theirs)) == expected


def test_the_report_has_medians_spreads_and_the_ratio_of_every_measure():
    figures = {m.name: {OURS: _figures(2.0, 3.0, 4.0), AGAINST: _figures(4.0, 6.0, 8.0)} for m in measures(BASIC)}
    written = report(Result(BASIC, figures, []))
    assert written.count("| 3 (2-4) | 6 (4-8) |") == len(measures(BASIC))
    assert written.count("0.50x (0.50-0.50)") == len(measures(BASIC))


def test_the_report_says_which_checkout_is_which():
    figures = {RATE.name: {name: Figure("a", "", (1.0,), configuration=f"/src/{name}") for name in (OURS, AGAINST)}}
    written = report(Result(BASIC, figures, [])).splitlines()
    assert {"koordpy: /src/koordpy", "against: /src/against"} <= set(written)


def test_a_checkout_without_a_right_run_has_no_ratio_and_its_problem_is_reported():
    figures = {m.name: {OURS: _figures(2.0)} for m in measures(BASIC)}
    written = report(Result(BASIC, figures, [Problem(AGAINST, "it fell over")]))
    assert "x (" not in written
    assert "- it fell over" in written


def test_the_koordpy_of_the_other_directory_is_run_although_another_is_installed(tmp_path: Path):
    package = tmp_path / "koordpy"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("print('another koordpy')")
    other = checkout(AGAINST, tmp_path)
    other.built()
    done = subprocess.run(other.command(_site(tmp_path)), cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "another koordpy\n"


def test_no_run_has_to_compile_what_it_runs(tmp_path: Path):
    package = tmp_path / "koordpy"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "planner.py").touch()
    checkout(AGAINST, tmp_path).built()
    assert [path.name.partition(".")[0] for path in package.glob("__pycache__/planner.*.pyc")] == ["planner"]


def test_a_directory_without_koordpy_is_refused(tmp_path: Path):
    with pytest.raises(BenchError, match=f"{tmp_path} is no checkout of koordpy"):
        checkout(AGAINST, tmp_path).built()


def test_a_checkout_is_known_by_its_directory_and_commit(tmp_path: Path):
    assert checkout(OURS, ROOT).configuration.startswith(f"{ROOT}, commit ")
    assert checkout(OURS, tmp_path).configuration == f"{tmp_path}, no commit"
