"""`CoschedulingArgs`: what can be set about gangs, and what a mistake in it says."""

from functools import partial
from typing import Any

import pytest

from koordpy.app.configfile import BadConfig
from koordpy.scheduler.settings import GangSettings
from koordpy.state.gangs.spec import GangDefaults
from tests.configs import reading


@pytest.fixture
def read(tmp_path):
    return partial(reading, tmp_path)


def coscheduling(**args: Any) -> dict[str, Any]:
    return {"pluginConfig": [{"name": "Coscheduling", "args": args}]}


def test_without_arguments_gangs_have_the_documented_defaults(read):
    settings, _ = read()
    assert settings.gang_defaults == GangDefaults(wait_s=600, match_policy="once-satisfied")
    assert settings.gangs == GangSettings(on_timeout="Abandon", max_gap_percent=100, preemption=True, topology=True)


def test_koordinators_arguments_and_ours_are_read(read):
    args = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "CoschedulingArgs",
        "defaultTimeout": "1m30s",
        "defaultMatchPolicy": "only-waiting",
        "enablePreemption": False,
        "awareNetworkTopology": False,
        "onTimeout": "Retry",
        "nonStrictMaxGapPercent": 10,
    }
    settings, listed = read(profiles=[coscheduling(**args)])
    assert settings.gang_defaults == GangDefaults(wait_s=90, match_policy="only-waiting")
    assert settings.gangs == GangSettings(on_timeout="Retry", max_gap_percent=10, preemption=False, topology=False)
    assert not listed


def test_the_coscheduling_plugins_arguments_are_read(read):
    args = {"permitWaitingTimeSeconds": 10, "podGroupRejectPercentage": 20, "podGroupBackoffSeconds": 3}
    settings, listed = read(profiles=[coscheduling(**args)])
    assert (settings.gang_defaults.wait_s, settings.gangs.max_gap_percent) == (10, 20)
    assert listed == ["profiles[0].pluginConfig of Coscheduling: podGroupBackoffSeconds"]


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ({"defaultTimeout": "soon"}, "defaultTimeout: 'soon' is not a Go duration"),
        ({"defaultTimeout": "0s"}, "defaultTimeout: '0s' is not positive"),
        ({"defaultMatchPolicy": "never"}, "defaultMatchPolicy: 'never' is none of"),
        ({"onTimeout": "Cry"}, "onTimeout: 'Cry' is none of Abandon, Retry"),
        ({"nonStrictMaxGapPercent": 101}, "nonStrictMaxGapPercent: 101 is wrong"),
        ({"gangs": 1}, "gangs: unknown field"),
        ({"defaultTimeout": "1s", "permitWaitingTimeSeconds": 1}, "permitWaitingTimeSeconds: 1 says the same as"),
    ],
)
def test_a_mistake_names_the_field_and_the_value(read, args, line):
    with pytest.raises(BadConfig) as caught:
        read(profiles=[coscheduling(**args)])
    assert f"profiles[0].pluginConfig of Coscheduling: {line}" in str(caught.value)


def test_profiles_that_disagree_about_gangs_are_a_mistake(read):
    profiles = [
        {"schedulerName": name} | coscheduling(defaultTimeout=time) for name, time in (("a", "1s"), ("b", "2s"))
    ]
    with pytest.raises(BadConfig, match="must be the same in all profiles"):
        read(profiles=profiles)
