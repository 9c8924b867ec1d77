"""The dashboard, the alerts and the guide speak of metrics, labels and reasons that exist."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from koordpy.app.pending import REASONS
from tests.deploy.promql import OF_THE_PROCESS, exported, problems_of, selectors_in

ROOT = Path(__file__).parent.parent.parent
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "koordpy.json").read_text())
RULES = yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yaml").read_text())
ALERTS: list[dict[str, Any]] = [rule for group in RULES["groups"] for rule in group["rules"]]
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TARGETS = [(panel["title"], target) for panel in PANELS for target in panel["targets"]]
GUIDE = (ROOT / "docs" / "monitoring.md").read_text()
EXPRESSIONS = [alert["expr"] for alert in ALERTS] + [target["expr"] for _, target in TARGETS]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_asks_for_what_there_is(expression):
    assert list(selectors_in(expression)), "it asks for no metric of ours"
    assert problems_of(expression) == []


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("sum(koordpy_no_such_metric)", "there is no koordpy_no_such_metric"),
        ("koordpy_gang_timeouts", "there is no koordpy_gang_timeouts"),
        ('koordpy_pending_pods{plugin="x"}', "koordpy_pending_pods has no label plugin"),
        ("sum by (le) (koordpy_leader)", "nothing has a label le"),
    ],
)
def test_one_that_asks_for_something_else_would_be_found(expression, problem):
    assert problems_of(expression) == [problem]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_reasons_are_those_that_pods_can_have(expression):
    for selector in selectors_in(expression):
        for label, how, value in selector.matchers:
            if label == "reason":
                assert how in ("=", "=~")
                assert set(value.split("|")) <= set(REASONS)


# --- alerts ---


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_says_how_bad_it_is_and_what_to_do(alert):
    assert alert["labels"]["severity"] in ("critical", "warning")
    assert set(alert["annotations"]) == {"summary", "description"}
    assert alert.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert alert["expr"].count("(") == alert["expr"].count(")")


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_the_guide_explains_every_alert(alert):
    assert f"`{alert['alert']}`" in GUIDE


def test_the_guide_names_no_alert_that_there_is_not():
    named = set(re.findall(r"`(Koordpy[A-Za-z]+)`", GUIDE))
    assert named == {alert["alert"] for alert in ALERTS}


# --- the dashboard ---


def test_panels_have_an_id_of_their_own_and_do_not_overlap():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    for one, other in itertools.combinations([panel["gridPos"] for panel in DASHBOARD["panels"]], 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or above
        assert one["x"] + one["w"] <= 24


@pytest.mark.parametrize("prefix", ["koordpy_queue_", "koordpy_reserv", "koordpy_backfilled_", "koordpy_answer_"])
def test_what_queues_reservations_and_answers_tell_is_shown(prefix):
    shown = {re.sub(r"_(bucket|sum|count)$", "", each.name) for expr in EXPRESSIONS for each in selectors_in(expr)}
    told = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported() if name.startswith(prefix)}
    assert told
    assert told <= shown


def test_panels_are_below_the_row_that_they_belong_to():
    """Grafana takes a panel for part of the last row above it; the file has them in that order."""
    tops = [(panel["gridPos"]["y"], panel["gridPos"]["x"]) for panel in DASHBOARD["panels"]]
    assert tops == sorted(tops)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_says_what_it_shows(panel):
    assert panel["description"]
    assert panel["datasource"]["uid"] == "${datasource}"


@pytest.mark.parametrize(("title", "target"), TARGETS)
def test_a_legend_uses_labels_that_are_left(title, target):
    used = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
    grouped = set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", target["expr"]))))
    left = grouped or {label for each in selectors_in(target["expr"]) for label in exported()[each.name]} | {"instance"}
    assert used <= left, title


# --- the guides ---


@pytest.mark.parametrize("page", sorted(path.name for path in ROOT.glob("docs/*.md")))
def test_a_guide_names_metrics_that_there_are(page):
    text = (ROOT / "docs" / page).read_text()
    named = set(re.findall(r"`((?:koordpy|scheduler)_[a-z_]+)(?=[`{ ])", text))
    names = set(exported()) | {name.removesuffix(end) for name in exported() for end in ("_sum", "_count", "_bucket")}
    assert {name for name in named if not name.endswith("_")} <= names


def test_the_reference_names_every_metric():
    text = (ROOT / "docs" / "running.md").read_text()
    names = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported()} - OF_THE_PROCESS
    assert {name for name in names if name not in text} <= {"scheduler_framework_extension_point_duration_seconds"}


def test_the_guide_names_every_reason():
    assert all(f"`{reason}`" in GUIDE for reason in REASONS)
