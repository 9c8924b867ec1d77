"""Mistakes in the configuration file: each stops the start with one line that names file, field and value."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from koordpy.app.configfile import BadConfig, read_settings
from tests.configs import HEAD, Json, disabled, enabled, reading, zone_constraint
from tests.plan.constraints import ZONE


@pytest.fixture
def read(tmp_path):
    return partial(reading, tmp_path)


def refused(read, text: str = "", **fields: Any) -> str:
    with pytest.raises(BadConfig) as caught:
        read(text, **fields)
    path, _, line = str(caught.value).partition(": ")
    assert Path(path).name == "config.yaml"
    assert "\n" not in line
    return line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("profiles: [", "not YAML: while parsing"),
        ("- a\n", "is not a KubeSchedulerConfiguration"),
        ("kind: Other\n", "apiVersion: None is not 'kubescheduler.config.k8s.io/v1'"),
        ("apiVersion: kubescheduler.config.k8s.io/v1\nkind: Other\n", "kind: 'Other' is not"),
        ("a: 1\na: 2\n", "a: stands there twice, again in line 2"),
    ],
)
def test_a_file_that_is_no_such_document(read, text, line):
    assert refused(read, text).startswith(line)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadConfig, match=r"missing.yaml: No such file or directory"):
        read_settings(str(tmp_path / "missing.yaml"))


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"extenders": []}, "extenders: unknown field"),
        ({1: 2}, "document: a key is wrong: expected text, got 1"),
        (
            {"podInitialBackoffSeconds": "soon"},
            "podInitialBackoffSeconds: 'soon' is wrong: expected a whole number, got text",
        ),
        ({"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds: 0 is not positive"),
        ({"podMaxBackoffSeconds": 0}, "podMaxBackoffSeconds: 0 is below podInitialBackoffSeconds, 1"),
        (
            {"leaderElection": {"leaderElect": "sure"}},
            "leaderElection.leaderElect: 'sure' is wrong: expected true or false",
        ),
        (
            {"leaderElection": {"leaseDuration": 15}},
            "leaderElection.leaseDuration: wants a duration such as 10s, not the number 15",
        ),
        ({"leaderElection": {"leaseDuration": "15x"}}, "leaderElection.leaseDuration: '15x' is not a Go duration"),
        ({"leaderElection": {"retryPeriod": "0s"}}, "leaderElection.retryPeriod: '0s' is not positive"),
        ({"leaderElection": {"renewDeadline": "1s"}}, "leaderElection.renewDeadline: '1s' must lie between"),
        ({"leaderElection": {"renewDeadline": "15s"}}, "leaderElection.renewDeadline: '15s' must lie between"),
        ({"leaderElection": {"resourceLock": "endpoints"}}, "leaderElection.resourceLock: 'endpoints' is not 'leases'"),
        ({"leaderElection": {"resourceName": ""}}, "leaderElection.resourceName: '' is empty"),
        ({"leaderElection": {"resourceNamespace": ""}}, "leaderElection.resourceNamespace: '' is empty"),
        ({"profiles": []}, "profiles: '[]' is empty"),
        ({"profiles": None}, "profiles: null is wrong: expected a list"),
        ({"profiles": ["a"]}, "profiles[0]: 'a' is wrong: expected a mapping"),
        ({"profiles": [{"schedulerName": ""}]}, "profiles[0].schedulerName: '' is empty"),
        ({"profiles": [{}, {}]}, "profiles[1].schedulerName: 'koord-scheduler' stands there twice"),
        ({"profiles": [{"plugins": {"filters": {}}}]}, "profiles[0].plugins.filters: unknown field"),
        ({"profiles": [{"pluginConfig": [{}]}]}, "profiles[0].pluginConfig[0].name: is missing"),
    ],
)
def test_a_mistake_in_a_field(read, fields, line):
    document = HEAD | fields
    assert refused(read, yaml.safe_dump(document)).startswith(line)


@pytest.mark.parametrize(
    ("plugins", "line"),
    [
        ({"filter": enabled("Nonsense")}, "filter.enabled[0].name: 'Nonsense' is no plugin; there are ImageLocality, "),
        ({"score": disabled("NodePorts", "Nonsense")}, "score.disabled[1].name: 'Nonsense' is no plugin"),
        ({"multiPoint": enabled("*")}, "multiPoint.enabled[0].name: '*' is no plugin"),
        ({"filter": enabled("NodePorts", "NodePorts")}, "filter.enabled[1].name: 'NodePorts' stands there twice"),
        ({"filter": enabled("ImageLocality")}, "filter.enabled[0].name: 'ImageLocality' has no filter"),
        ({"score": enabled("NodePorts")}, "score.enabled[0].name: 'NodePorts' has no score"),
        ({"score": enabled(ImageLocality=-1)}, "score.enabled[0].weight: -1 is not between 0 and 2147483647"),
        ({"score": enabled(ImageLocality=2**31)}, "score.enabled[0].weight: 2147483648 is not between"),
        ({"score": {"enabled": [{"weight": 1}]}}, "score.enabled[0].name: is missing"),
        (
            {"score": {"enabled": [{"name": "X", "weight": "1"}]}},
            "score.enabled[0].weight: '1' is wrong: expected a whole number",
        ),
    ],
)
def test_a_mistake_in_plugins(read, plugins, line):
    assert refused(read, profiles=[{"plugins": plugins}]).startswith(f"profiles[0].plugins.{line}")


def test_a_mistake_names_the_profile_that_has_it(read):
    profiles = [{}, {"schedulerName": "b", "plugins": {"filter": enabled("Nonsense")}}]
    assert refused(read, profiles=profiles).startswith("profiles[1].plugins.filter.enabled[0].name: 'Nonsense'")


def strategy(**fields: Any) -> Json:
    return {"scoringStrategy": fields}


def curve(*points: tuple[int, int]) -> Json:
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    return strategy(type="RequestedToCapacityRatio", requestedToCapacityRatio={"shape": shape})


def defaults(*constraints: Json) -> Json:
    return {"defaultingType": "List", "defaultConstraints": list(constraints)}


def added(*terms: Json, **more: Any) -> Json:
    return {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}, **more}}


def expression(*values: str, **fields: Any) -> Json:
    return {"matchExpressions": [{"key": "disk", "values": list(values), **fields}]}


RATIO = "scoringStrategy.requestedToCapacityRatio.shape"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERMS = f"addedAffinity.{REQUIRED}.nodeSelectorTerms"
BY_TWO_NAMES = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}


@pytest.mark.parametrize(
    ("plugin", "args", "line"),
    [
        ("NodeResourcesFit", {"scoringstrategy": {}}, "scoringstrategy: unknown field"),
        ("NodeResourcesFit", {"kind": "InterPodAffinityArgs"}, "kind: 'InterPodAffinityArgs' is none of NodeRes"),
        ("NodeResourcesFit", {"apiVersion": "v2"}, "apiVersion: 'v2' is none of kubescheduler.config.k8s.io/v1"),
        (
            "NodeResourcesFit",
            strategy(type="Most"),
            "scoringStrategy.type: 'Most' is none of LeastAllocated, MostAllocated, RequestedToCapacityRatio",
        ),
        (
            "NodeResourcesFit",
            strategy(resources=[{"name": "cpu", "weight": 101}]),
            "scoringStrategy.resources[0].weight: 101 is not between 1 and 100",
        ),
        ("NodeResourcesFit", strategy(type="RequestedToCapacityRatio"), f"{RATIO}: '[]' needs points"),
        ("NodeResourcesFit", curve((50, 1), (50, 2)), f"{RATIO}: '[(50, 1), (50, 2)]' needs points with rising"),
        ("NodeResourcesFit", curve((0, 11)), f"{RATIO}: '[(0, 11)]' needs points"),
        ("NodeResourcesFit", curve((101, 1)), f"{RATIO}: '[(101, 1)]' needs points"),
        (
            "NodeResourcesFit",
            strategy(requestedToCapacityRatio={"shape": []}),
            "scoringStrategy.type: 'LeastAllocated' has no use for requestedToCapacityRatio",
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}]},
            "resources[0].weight: 2 is not 1",
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu"}, {"name": "cpu"}]},
            "resources[1].name: 'cpu' stands there twice",
        ),
        ("InterPodAffinity", {"hardPodAffinityWeight": 101}, "hardPodAffinityWeight: 101 is not between 0 and 100"),
        ("PodTopologySpread", {"defaultingType": "Some"}, "defaultingType: 'Some' is none of "),
        ("PodTopologySpread", {"defaultConstraints": [zone_constraint()]}, "defaultConstraints: '…' can only be"),
        ("PodTopologySpread", defaults(zone_constraint(maxSkew=0)), "defaultConstraints[0].maxSkew: 0 is wrong"),
        ("PodTopologySpread", defaults(zone_constraint(topologyKey="")), "defaultConstraints[0].topologyKey: ''"),
        (
            "PodTopologySpread",
            defaults(zone_constraint(whenUnsatisfiable="Never")),
            "defaultConstraints[0].whenUnsatisfiable: 'Never' is none of DoNotSchedule, ScheduleAnyway",
        ),
        ("PodTopologySpread", defaults(zone_constraint(skew=1)), "defaultConstraints[0].skew: unknown field"),
        (
            "PodTopologySpread",
            defaults(zone_constraint(labelSelector={})),
            "defaultConstraints[0].labelSelector: '…' must not be given",
        ),
        (
            "PodTopologySpread",
            defaults(zone_constraint(), zone_constraint(maxSkew=2)),
            f"defaultConstraints[1].topologyKey: '{ZONE}' stands there twice",
        ),
        ("NodeAffinity", {"addedaffinity": {}}, "addedaffinity: unknown field"),
        ("NodeAffinity", {"addedAffinity": {"required": {}}}, "addedAffinity.required: unknown field"),
        ("NodeAffinity", added(), f"{TERMS}: […] is wrong: expected a list of length >= 1"),
        ("NodeAffinity", added(expression(operator="Is")), f"{TERMS}[0].matchExpressions[0].operator: 'Is' is none"),
        (
            "NodeAffinity",
            added(expression(operator="In")),
            f"{TERMS}[0].matchExpressions[0]: {{…}} is wrong: values: []",
        ),
        (
            "NodeAffinity",
            added(expression("x", operator="Exists")),
            f"{TERMS}[0].matchExpressions[0]: {{…}} is wrong: values: ['x'] must be empty for Exists",
        ),
        (
            "NodeAffinity",
            added(expression("x", operator="Gt")),
            f"{TERMS}[0].matchExpressions[0]: {{…}} is wrong: values: ['x'] must be one integer for Gt",
        ),
        ("NodeAffinity", added(BY_TWO_NAMES), f"{TERMS}[0].matchFields[0].values: […] is wrong: expected a list of"),
        (
            "NodeAffinity",
            added({}, **{PREFERRED: [{"weight": 0, "preference": {}}]}),
            f"addedAffinity.{PREFERRED}[0].weight: 0 is wrong: expected a whole number >= 1",
        ),
        ("VolumeBinding", {"bindTimeoutSeconds": -1}, "bindTimeoutSeconds: -1 is negative"),
    ],
)
def test_a_mistake_in_the_arguments_of_a_plugin(read, plugin, args, line):
    said = refused(read, profiles=[{"pluginConfig": [{"name": plugin, "args": args}]}])
    assert said.startswith(f"profiles[0].pluginConfig of {plugin}: {line}")


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ([{"name": "Nonsense"}], ".name: 'Nonsense' is no plugin; there are "),
        ([{"name": "NodePorts", "args": {"a": 1}}], ".name: 'NodePorts' takes no arguments"),
        ([{"name": "NodeResourcesFit"}] * 2, "[1].name: 'NodeResourcesFit' stands there twice"),
        ([{"name": "NodeResourcesFit", "args": None}], "[0].args: null is wrong: expected a mapping"),
    ],
)
def test_arguments_for_the_wrong_plugin(read, config, line):
    assert refused(read, profiles=[{"pluginConfig": config}]).startswith(f"profiles[0].pluginConfig{line}")
