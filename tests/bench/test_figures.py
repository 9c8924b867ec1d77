"""Figures, their spread, and the records that the next run compares with."""

from pathlib import Path

import pytest

from bench.figures import BenchError, Figure, number, ratio
from bench.record import last_figures, new_record, save
from bench.table import table


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_a_figure_of_few_samples_shows_all_of_their_spread():
    assert Figure("x", "ms", (3.0, 1.0, 2.0)).written() == "2 (1-3) ms"


def test_a_figure_of_many_samples_leaves_the_outliers_out():
    figure = Figure("x", "ms", (0.5, *[2.0] * 20, 90.0))
    assert (figure.low, figure.value, figure.high) == (2.0, 2.0, 2.0)


def test_a_figure_without_samples_is_an_error():
    with pytest.raises(BenchError, match="'x' has no samples"):
        Figure("x", "ms", ())


def test_a_ratio_compares_runs_of_the_same_round():
    assert ratio(Figure("a", "", (10.0, 30.0, 20.0)), Figure("b", "", (10.0, 15.0, 10.0))) == "2.00x (1.00-2.00)"


@pytest.mark.parametrize(("value", "written"), [(0, "0"), (0.01234, "0.012"), (1.234, "1.23"), (12345.6, "12,346")])
def test_numbers_are_written_for_people(value: float, written: str):
    assert number(value) == written


def test_the_newest_record_of_each_figure_is_what_a_run_compares_with():
    about = {"machine": "m"}
    old = new_record([Figure("a", "ms", (1.0,)), Figure("b", "ms", (2.0,))], about)
    save(type(old)("2026-01-01", about, old.figures))
    save(type(old)("2026-01-02", about, {"a": Figure("a", "ms", (3.0,), target=4.0)}))
    last = last_figures()
    assert last["a"] == ("2026-01-02", Figure("a", "ms", (3.0,), target=4.0))
    assert last["b"] == ("2026-01-01", Figure("b", "ms", (2.0,)))


def test_a_record_that_cannot_be_read_is_named_and_skipped(cache: Path, capsys: pytest.CaptureFixture[str]):
    path = save(new_record([Figure("a", "ms", (1.0,))], {}))
    broken = path.with_name("broken.json")
    broken.write_text("{")
    assert last_figures().keys() == {"a"}
    assert str(broken) in capsys.readouterr().err


def test_a_table_is_aligned():
    lines = table(("what", "n"), [("a", "1"), ("long", "1,000")]).splitlines()
    assert lines == ["| what |     n |", "| ---- | ----: |", "| a    |     1 |", "| long | 1,000 |"]
