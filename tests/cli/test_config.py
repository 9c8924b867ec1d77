"""`koordpy config` as a process: what is wrong on standard output, and the migrated file alone on it."""

import pytest
import yaml

from tests.app.test_migrate import in_config_map, koordinators
from tests.cli.commands import koordpy
from tests.configs import HEAD

pytestmark = pytest.mark.process


@pytest.fixture
def file(tmp_path):
    def write(**fields):
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(HEAD | fields))
        return path

    return write


def test_a_good_file_is_ok(file):
    path = file(parallelism=16, profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}])
    answer = koordpy("config", "check", path)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.splitlines() == [
        f"{path}: parallelism: accepted, and without meaning here",
        f"{path}: ok, profiles a, b",
    ]


def test_every_mistake_has_a_line_and_the_exit_code_is_1(file):
    path = file(extenders=[], podMaxBackoffSeconds=0)
    answer = koordpy("config", "check", path)
    assert answer.returncode == 1
    assert answer.stdout.splitlines() == [
        f"{path}: extenders: unknown field",
        f"{path}: podMaxBackoffSeconds: 0 is below podInitialBackoffSeconds, 1",
    ]


@pytest.mark.parametrize("command", ["check", "migrate"])
def test_a_file_that_is_not_there_is_one_line(command, tmp_path):
    answer = koordpy("config", command, tmp_path / "missing")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr == f"koordpy: {tmp_path}/missing: No such file or directory\n"


def test_what_is_migrated_passes_the_check(tmp_path):
    source, result = tmp_path / "configmap.yaml", tmp_path / "config.yaml"
    source.write_text(yaml.safe_dump(in_config_map(koordinators("v1beta2")), sort_keys=False))
    answer = koordpy("config", "migrate", source)
    assert answer.returncode == 0
    assert "profiles[0]: Reservation (preFilter, filter, " in answer.stderr
    result.write_text(answer.stdout)
    assert koordpy("config", "check", result).stdout == f"{result}: ok, profiles koord-scheduler\n"


def test_what_cannot_be_migrated_prints_no_half_of_it(tmp_path):
    source = tmp_path / "config.yaml"
    source.write_text(yaml.safe_dump(HEAD | {"podMaxBackoffSeconds": 0, "podInitialBackoffSeconds": "x"}))
    answer = koordpy("config", "migrate", source)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr == f"{source}: podInitialBackoffSeconds: 'x' is wrong: expected a whole number, got text\n"
