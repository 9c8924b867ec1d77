"""The change that `docs/contributing.md` works through, made in a copy of the tree: every step works as it stands."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "docs" / "contributing.md").read_text()
FILTER, TEST = "koordpy/plan/filters/node_maintenance.py", "tests/plan/filters/test_node_maintenance.py"
PROMISE = "tests/app/test_configfile.py"


class Step(NamedTuple):
    path: str
    kind: str  # python: a new file; diff: a change
    text: str


def steps() -> list[Step]:
    """Every block that follows a line with nothing but the path of a file."""
    return [
        Step(*found)
        for found in re.findall(r"^`([\w./]+)`\n\n```(python|diff)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    ]


def hunks(diff: str) -> Iterator[tuple[str, str]]:
    """The lines before and after, of each hunk."""
    for hunk in diff.split("@@\n")[1:]:
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] or "\n" for line in lines if line[0] in " -\n")
        after = "".join(line[1:] or "\n" for line in lines if line[0] in " +\n")
        yield before, after


@pytest.fixture
def tree(tmp_path) -> Path:
    """A copy of what the change touches and of what its tests import, compiled as far as it is."""
    half_written = shutil.ignore_patterns("*.pyc.*")  # by tests that run meanwhile
    for directory in ("koordpy", "tests", "docs", "crds"):
        shutil.copytree(ROOT / directory, tmp_path / directory, ignore=half_written)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def make(tree: Path, step: Step) -> None:
    path = tree / step.path
    if step.kind == "python":
        assert not path.exists(), f"docs/contributing.md: {step.path} is there already"
        path.write_text(step.text)
        return
    text = path.read_text()
    for before, after in hunks(step.text):
        assert text.count(before) == 1, (
            f"docs/contributing.md: {step.path} does not have these lines any more:\n{before}"
        )
        text = text.replace(before, after)
    path.write_text(text)


def run(tree: Path, *command: str) -> str:
    """What a command in the tree prints. Its lines do not count as koordpy's where coverage is measured."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=100,
    )
    return done.stdout


def pytest_says(tree: Path, *paths: str) -> str:
    return run(tree, "pytest", "-q", "-p", "no:cacheprovider", *paths)


def test_each_step_of_the_guide_does_what_it_says(tree):
    rules, code, registration, promise, users = steps()
    make(tree, rules)
    assert "No module named 'koordpy.plan.filters.node_maintenance'" in pytest_says(tree, TEST)
    make(tree, code)
    assert "1 failed, 3 passed" in pytest_says(tree, TEST)
    make(tree, registration)
    assert "4 passed" in pytest_says(tree, TEST)
    broken_promise = re.search(r"`(test_the_default_profile\w+)`", GUIDE)[1]
    assert f"::{broken_promise}" in pytest_says(tree, PROMISE)
    make(tree, promise)
    assert "failed" not in pytest_says(tree, PROMISE)
    make(tree, users)
    assert run(tree, "ruff", "check", "--quiet", FILTER, TEST, registration.path, PROMISE) == ""
    assert run(tree, "ruff", "format", "--check", "--quiet", FILTER, TEST, registration.path, PROMISE) == ""


@pytest.mark.parametrize(
    ("code", "broken", "rule"),
    [
        ("codes >= 0", "codes > 0", "test_a_node_in_maintenance_takes_no_pod"),
        (
            "preemption_helps=False",
            "preemption_helps=True",
            "test_evicting_pods_from_a_node_in_maintenance_helps_nobody",
        ),
        (
            " | EventKind.NODE_RELABELLED",
            "",
            "test_a_pod_that_maintenance_keeps_out_is_woken_by_labels_and_by_new_nodes",
        ),
    ],
)
def test_what_the_guide_breaks_fails_the_test_that_it_names(tree, code, broken, rule):
    assert f"`{rule}`" in GUIDE
    for step in steps():
        make(tree, step)
    path = tree / FILTER
    assert code in path.read_text()
    path.write_text(path.read_text().replace(code, broken))
    assert f"::{rule}" in pytest_says(tree, TEST)
