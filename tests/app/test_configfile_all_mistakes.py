"""All mistakes of a configuration file are found at once, and none that is not there."""

from functools import partial
from typing import Any

import pytest

from koordpy.app.configfile import BadConfig
from tests.configs import disabled, enabled, reading

STRATEGIES = "LeastAllocated, MostAllocated, RequestedToCapacityRatio"


@pytest.fixture
def mistakes(tmp_path):
    return partial(found, tmp_path)


def found(folder, text: str = "", **fields: Any) -> list[str]:
    with pytest.raises(BadConfig) as caught:
        reading(folder, text, **fields)
    return list(caught.value.mistakes)


def test_mistakes_of_every_kind_in_every_corner(mistakes):
    args = [
        {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Most", "resources": [{"weight": 1}]}}},
        {"name": "Coscheduling", "args": {"onTimeout": "Cry", "defaultTimeout": 600}},
    ]
    plugins = {"filter": enabled("Nonsense", "ImageLocality"), "score": disabled("Nothing")}
    profiles = [{"plugins": plugins, "pluginConfig": args}, {"plugin": {}}]
    said = mistakes(
        extenders=[],
        leaderElection={"leaseDuration": 15, "leaderElect": "sure"},
        podMaxBackoffSeconds=0,
        profiles=profiles,
    )
    assert [line.partition(";")[0] for line in said] == [
        "extenders: unknown field",
        "leaderElection.leaderElect: 'sure' is wrong: expected true or false, got text",
        "leaderElection.leaseDuration: wants a duration such as 10s, not the number 15",
        "profiles[1].plugin: unknown field",
        "podMaxBackoffSeconds: 0 is below podInitialBackoffSeconds, 1",
        "profiles[1].schedulerName: 'koord-scheduler' stands there twice",
        "profiles[0].plugins.filter.enabled[0].name: 'Nonsense' is no plugin",
        "profiles[0].plugins.filter.enabled[1].name: 'ImageLocality' has no filter",
        "profiles[0].plugins.score.disabled[0].name: 'Nothing' is no plugin",
        "profiles[0].pluginConfig of NodeResourcesFit: scoringStrategy.resources[0].name: is missing",
        f"profiles[0].pluginConfig of NodeResourcesFit: scoringStrategy.type: 'Most' is none of {STRATEGIES}",
        "profiles[0].pluginConfig of Coscheduling: defaultTimeout: wants a duration such as 10s, not the number 600",
        "profiles[0].pluginConfig of Coscheduling: onTimeout: 'Cry' is none of Abandon, Retry",
    ]


def test_keys_that_stand_there_twice_are_named_with_what_else_is_wrong(mistakes):
    text = "kind: A\nkind: KubeSchedulerConfiguration\napiVersion: x\napiVersion: kubescheduler.config.k8s.io/v1\n"
    assert mistakes(text) == [
        "kind: stands there twice, again in line 2",
        "apiVersion: stands there twice, again in line 4",
    ]


def test_a_value_that_cannot_be_read_is_not_compared_with_others(mistakes):
    """With the default in its place, the others could look wrong."""
    assert mistakes(leaderElection={"leaseDuration": 60, "renewDeadline": "40s"}) == [
        "leaderElection.leaseDuration: wants a duration such as 10s, not the number 60"
    ]
    assert len(mistakes(podInitialBackoffSeconds="x", podMaxBackoffSeconds=0)) == 1


def test_both_arguments_of_a_list_are_named(mistakes):
    resources = [{"name": "cpu", "weight": 0}, {"name": "memory", "weight": 1}, {"name": "x", "weight": 101}]
    args = {"scoringStrategy": {"resources": resources}}
    said = mistakes(profiles=[{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}])
    place = "profiles[0].pluginConfig of NodeResourcesFit: scoringStrategy.resources"
    assert said == [
        f"{place}[0].weight: 0 is not between 1 and 100",
        f"{place}[2].weight: 101 is not between 1 and 100",
    ]


def test_arguments_of_a_filter_that_is_off_are_read_once_all_the_same(mistakes):
    config = [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": -1}}]
    line = "profiles[0].pluginConfig of VolumeBinding: bindTimeoutSeconds: -1 is negative"
    assert mistakes(profiles=[{"pluginConfig": config}]) == [line]
    assert mistakes(profiles=[{"pluginConfig": config, "plugins": {"filter": disabled("VolumeBinding")}}]) == [line]


def test_numbers_of_later_items_stay_right_behind_one_that_is_broken(mistakes):
    profiles = [{"schedulerName": 7}, {"schedulerName": "b", "plugins": {"filter": enabled("Nonsense")}}]
    said = mistakes(profiles=profiles)
    assert said[0] == "profiles[0].schedulerName: 7 is wrong: expected text, got a whole number"
    assert said[1].startswith("profiles[1].plugins.filter.enabled[0].name: 'Nonsense' is no plugin")


def test_the_start_is_stopped_with_one_line_that_says_how_many_more_there_are(tmp_path):
    with pytest.raises(BadConfig) as caught:
        reading(tmp_path, podInitialBackoffSeconds="x", extenders=[], other=1)
    line = str(caught.value)
    assert line.endswith(f"(and 2 more: koordpy config check {tmp_path / 'config.yaml'})")
    assert "\n" not in line


@pytest.mark.parametrize("version", ["v1beta2", "v1beta3"])
def test_a_file_of_an_older_version_says_how_to_migrate_it(mistakes, version):
    (said,) = mistakes(apiVersion=f"kubescheduler.config.k8s.io/{version}")
    assert said.endswith("; koordpy config migrate turns it into one")


def test_a_config_map_says_how_to_migrate_it(mistakes):
    said = mistakes("apiVersion: v1\nkind: ConfigMap\n")
    assert all(line.endswith("; koordpy config migrate turns it into one") for line in said)
