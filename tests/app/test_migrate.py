"""Configurations of other schedulers become ones that koordpy takes, and nothing is left out without a word."""

from typing import Any

import pytest
import yaml

from koordpy.api.strict import Misread
from koordpy.app.configfile import settings_of
from koordpy.app.migrate.migration import Migrated, migrate

Json = dict[str, Any]
GROUP = "kubescheduler.config.k8s.io"
# What Koordinator's chart ships, by extension point.
KOORDINATORS = {
    "preEnqueue": "Coscheduling",
    "queueSort": "PrioritySort",
    "preFilter": "SchedulingHint Coscheduling Reservation NodeNUMAResource DeviceShare ElasticQuota",
    "filter": "Reservation LoadAwareScheduling NodeNUMAResource DeviceShare",
    "postFilter": "Reservation Coscheduling ElasticQuota",
    "preScore": "Reservation Coscheduling",
    "score": "LoadAwareScheduling NodeNUMAResource DeviceShare Reservation Coscheduling",
    "reserve": "Reservation LoadAwareScheduling NodeNUMAResource DeviceShare Coscheduling ElasticQuota",
    "permit": "Coscheduling",
    "preBind": "NodeNUMAResource DeviceShare Reservation Coscheduling DefaultPreBind",
    "bind": "Reservation DefaultBinder",
    "postBind": "Coscheduling",
}
REPLACED = ("queueSort", "postFilter", "bind")  # where it disables what kube-scheduler has


def plugins_of(named: dict[str, str], replaced: tuple[str, ...] = ()) -> Json:
    points: Json = {point: {"enabled": [{"name": name} for name in names.split()]} for point, names in named.items()}
    for point in replaced:
        points[point]["disabled"] = [{"name": "*"}]
    return points


def configuration(version: str = "v1", **fields: Any) -> Json:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration"} | fields


def args(name: str, version: str = "v1", **fields: Any) -> Json:
    return {"name": name, "args": {"apiVersion": f"{GROUP}/{version}", "kind": f"{name}Args"} | fields}


def koordinators(version: str = "v1", **coscheduling: Any) -> Json:
    """As the chart has it."""
    fit = {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}
    profile = {
        "schedulerName": "koord-scheduler",
        "plugins": plugins_of(KOORDINATORS, REPLACED),
        "pluginConfig": [
            args("NodeResourcesFit", version, scoringStrategy=fit),
            args("LoadAwareScheduling", version, usageThresholds={"cpu": 65}),
            args("ElasticQuota", version, quotaGroupNamespace="koordinator-system"),
            args("Coscheduling", version, **coscheduling),
            args("DeviceShare", version),
        ],
    }
    election = {"leaderElect": True, "resourceLock": "leases", "resourceName": "koord-scheduler"}
    election["resourceNamespace"] = "koordinator-system"
    return configuration(version, leaderElection=election, profiles=[profile])


def in_config_map(document: Json, key: str = "koord-scheduler-config") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "koord-scheduler-config"},
        "data": {key: yaml.safe_dump(document, sort_keys=False)},
    }


def migrated(document: Json) -> tuple[Json, Migrated]:
    """The result, which koordpy takes as it is."""
    found = migrate(yaml.safe_dump(document, sort_keys=False))
    _, without_meaning = settings_of(found.text)
    assert without_meaning == []
    return yaml.safe_load(found.text), found


def note(found: Migrated, start: str) -> str:
    (line,) = [line for line in found.notes if line.startswith(start)]
    return line


# --- koord-scheduler ---


def test_koordinators_config_map_keeps_what_koordpy_has():
    result, _ = migrated(in_config_map(koordinators(enablePreemption=True, awareNetworkTopology=True)))
    (profile,) = result["profiles"]
    assert profile["schedulerName"] == "koord-scheduler"
    assert profile["pluginConfig"] == [
        {
            "name": "NodeResourcesFit",
            "args": {
                "scoringStrategy": {
                    "type": "LeastAllocated",
                    "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
                }
            },
        },
        {"name": "Coscheduling", "args": {"enablePreemption": True, "awareNetworkTopology": True}},
    ]
    assert profile.keys() == {"schedulerName", "pluginConfig"}


def test_every_plugin_that_is_left_out_is_named_once_with_its_places_and_a_reason():
    _, found = migrated(koordinators(enablePreemption=True))
    named = {name for names in KOORDINATORS.values() for name in names.split()}
    for name in named:
        note(found, f"profiles[0]: {name} (")
    assert note(found, "profiles[0]: LoadAwareScheduling") == (
        "profiles[0]: LoadAwareScheduling (filter, score, reserve, pluginConfig): dropped: "
        "koordpy places by what pods request, not by the load that was measured"
    )
    assert note(found, "profiles[0]: Coscheduling").endswith("not needed: it is part of koordpy, and always on")


def test_the_lease_of_koordinator_is_kept_so_that_both_never_lead():
    result, found = migrated(koordinators(enablePreemption=True))
    assert result["leaderElection"]["resourceNamespace"] == "koordinator-system"
    assert "never lead both" in note(found, "leaderElection.resourceNamespace: koordinator-system")


@pytest.mark.parametrize("version", ["v1beta2", "v1beta3"])
def test_older_versions_become_v1(version):
    result, found = migrated(koordinators(version, enablePreemption=True))
    assert result["apiVersion"] == f"{GROUP}/v1"
    assert note(found, "apiVersion") == f"apiVersion: {version} is v1 now"
    assert any("default weights" in line for line in found.notes) == (version == "v1beta2")


def test_without_any_preemption_there_koordpy_does_not_preempt_either():
    result, _ = migrated(koordinators())
    assert result["profiles"][0]["koordpy"] == {"preemption": "Never"}


def test_preemption_pod_by_pod_becomes_koordpys():
    document = koordinators(enablePreemption=False)
    document["profiles"][0]["plugins"]["postFilter"]["enabled"].append({"name": "DefaultPreemption"})
    result, found = migrated(document)
    settings, _ = settings_of(yaml.safe_dump(result))
    assert settings.profiles[0].preempts
    note(found, "profiles[0].pluginConfig of Coscheduling: enablePreemption: dropped")


def test_fields_of_coscheduling_that_mean_nothing_here_are_left_out():
    result, found = migrated(koordinators(enablePreemption=True, controllerWorkers=2, defaultTimeout="60s"))
    assert result["profiles"][0]["pluginConfig"][-1]["args"] == {"enablePreemption": True, "defaultTimeout": "60s"}
    note(found, "profiles[0].pluginConfig of Coscheduling: controllerWorkers: dropped")


# --- scheduler-plugins ---


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta3"])
def test_the_coscheduling_plugins_configuration(version):
    points = dict.fromkeys(("queueSort", "preFilter", "postFilter", "permit", "reserve", "postBind"), "Coscheduling")
    given = args("Coscheduling", version, permitWaitingTimeSeconds=10, deniedPGExpirationTimeSeconds=3)
    profile = {"plugins": plugins_of(points, ("queueSort",)), "pluginConfig": [given]}
    connection = {"kubeconfig": "REPLACE_ME_WITH_KUBE_CONFIG_PATH"}
    source = configuration(
        version, leaderElection={"leaderElect": False}, clientConnection=connection, profiles=[profile]
    )
    result, found = migrated(source)
    assert result == configuration(
        leaderElection={"leaderElect": False},
        profiles=[
            {
                "schedulerName": "default-scheduler",
                "pluginConfig": [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}],
            }
        ],
    )
    assert "kube-scheduler takes the same pods" in note(found, "profiles[0].schedulerName: default-scheduler")
    note(found, "profiles[0].pluginConfig of Coscheduling: deniedPGExpirationTimeSeconds: dropped")
    note(found, "clientConnection.kubeconfig: REPLACE_ME")


def test_plugins_that_koordpy_has_keep_their_weights_and_switches():
    plugins = {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "ImageLocality"}]},
        "score": {
            "disabled": [{"name": "*"}],
            "enabled": [{"name": "NodeResourcesFit", "weight": 5}, {"name": "TargetLoadPacking", "weight": 9}],
        },
    }
    result, found = migrated(configuration(profiles=[{"schedulerName": "x", "plugins": plugins}]))
    assert result["profiles"][0]["plugins"] == {
        "multiPoint": {"disabled": [{"name": "ImageLocality"}]},
        "score": {"enabled": [{"name": "NodeResourcesFit", "weight": 5}], "disabled": [{"name": "*"}]},
    }
    note(found, "profiles[0]: TargetLoadPacking (score): dropped")


def test_a_plugin_of_nobody_is_left_out_with_a_hint():
    plugins = plugins_of({"filter": "Mine"})
    _, found = migrated(configuration(profiles=[{"schedulerName": "x", "plugins": plugins}]))
    assert "docs/plugins.md" in note(found, "profiles[0]: Mine (filter): dropped")


def test_fields_that_koordpy_does_not_have_are_left_out_wherever_they_stand():
    profile = {"schedulerName": "x", "pluginConfig": [args("VolumeBinding", bindTimeoutSeconds=60, shape=[])]}
    source = configuration(
        "v1beta2",
        healthzBindAddress="0.0.0.0:10251",
        parallelism=16,
        extenders=[{"urlPrefix": "http://x"}],
        leaderElection={"leaderElect": True, "resourceLock": "endpointsleases", "resourceName": "kube-scheduler"},
        clientConnection={"qps": 50, "burst": 100},
        profiles=[profile | {"percentageOfNodesToScore": 50}],
    )
    result, found = migrated(source)
    assert result == configuration(
        leaderElection={"leaderElect": True, "resourceLock": "leases"},
        profiles=[
            {"schedulerName": "x", "pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 60}}]}
        ],
    )
    for start in (
        "healthzBindAddress: dropped: say --bind-address",
        "parallelism: dropped",
        "extenders: dropped: koordpy calls no extenders",
        "leaderElection.resourceLock: endpointsleases is leases now",
        "leaderElection.resourceName: kube-scheduler: dropped",
        "clientConnection.qps: dropped",
        "profiles[0].percentageOfNodesToScore: dropped",
        "profiles[0].pluginConfig of VolumeBinding: shape: dropped",
    ):
        note(found, start)


# --- where it is found ---


def test_it_is_found_in_a_manifest_of_many_documents():
    others = [{"kind": "Namespace", "apiVersion": "v1"}, in_config_map({"a": 1}), None]
    text = yaml.safe_dump_all([*others, in_config_map(configuration())])
    assert yaml.safe_load(migrate(text).text)["profiles"] == [{"schedulerName": "default-scheduler"}]


def test_it_is_found_in_a_list_as_kubectl_prints_it():
    document = {"apiVersion": "v1", "kind": "List", "items": [in_config_map(configuration())]}
    assert migrate(yaml.safe_dump(document, sort_keys=False)).text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1", "there is no KubeSchedulerConfiguration in it, and no ConfigMap with one"),
        (yaml.safe_dump_all([configuration(), configuration()]), "there are several of kind KubeSchedulerConfig"),
        (yaml.safe_dump(configuration("v1alpha1")), f"apiVersion: '{GROUP}/v1alpha1' is none of {GROUP}/v1, "),
        ("kind: {{ .Values.x }}", "not YAML: while constructing a mapping"),
    ],
)
def test_what_cannot_be_migrated_says_why(text, line):
    with pytest.raises(Misread) as caught:
        migrate(text)
    assert str(caught.value).startswith(line)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"profiles": "a"}, "profiles"),
        ({"profiles": ["a"]}, "profiles"),
        ({"profiles": [{"plugins": ["a"]}]}, "profiles[0].plugins"),
        ({"profiles": [{"pluginConfig": {"name": "a"}}]}, "profiles[0].pluginConfig"),
        ({"profiles": [{"pluginConfig": [{"name": "a", "args": ["b"]}]}]}, "profiles[0].pluginConfig: args"),
        ({"leaderElection": "a"}, "leaderElection"),
        ({"a.b": 1}, "a.b"),
    ],
)
def test_what_is_no_configuration_inside_is_named_too(fields, place):
    with pytest.raises(Misread) as caught:
        migrate(yaml.safe_dump(configuration(**fields)))
    assert str(caught.value).startswith(f"{place}: ")


def test_a_template_is_recognised():
    with pytest.raises(Misread, match="it looks like a template, which helm template renders"):
        migrate("kind: {{ .Values.x }}")


def test_what_was_wrong_before_stays_wrong_and_all_of_it_is_said():
    profile = {"pluginConfig": [args("NodeResourcesFit", scoringStrategy={"type": "Most"})]}
    source = configuration(podMaxBackoffSeconds=0, unknown=1, profiles=[profile])
    with pytest.raises(Misread) as caught:
        migrate(yaml.safe_dump(source))
    assert [line.partition(": ")[0] for line in caught.value.lines] == [
        "podMaxBackoffSeconds",
        "profiles[0].pluginConfig of NodeResourcesFit",
    ]
