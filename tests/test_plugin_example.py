"""The example of a third-party package in `examples/plugin`: found through its entry points, enabled by a file."""

import importlib
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from koordpy.app.configfile import BadConfig, read_settings
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profile import Profile
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.framework.registry import third_party
from koordpy.plan.placement.pods import plan
from koordpy.state.cluster import Cluster
from tests.builders import node, pod

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "plugin"
TEAM, PRICE = "example.com/team", "example.com/price-per-hour"
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.fixture(autouse=True)
def forget_the_example():
    yield
    for name in [name for name in sys.modules if name.startswith("koordpy_example")]:
        del sys.modules[name]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """As pip would leave it behind, but seen by this test alone."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    offer(tmp_path / "site", project["name"], project["entry-points"])
    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.syspath_prepend(tmp_path / "site")


def offer(site: Path, package: str, entry_points: dict[str, dict[str, str]]) -> None:
    """Metadata of an installed package."""
    info = site / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))


def profile_of(tmp_path: Path, profile: str) -> Profile:
    path = tmp_path / "config.yaml"
    path.write_text(f"{HEAD}profiles: [{profile}]\n")
    return read_settings(str(path))[0].profiles[0]


def example_profile() -> Profile:
    return read_settings(str(EXAMPLE / "config.yaml"))[0].profiles[0]


def names(plugins) -> list[str]:
    return [plugin.name for plugin in plugins]


def cluster_of(**labels: dict[str, str]) -> Cluster:
    cluster = Cluster()
    for name, own in labels.items():
        cluster.upsert_node(node(name, labels=own))
    return cluster


def answer(cluster: Cluster, profile: Profile, namespace: str = "red") -> Plan | Refusal:
    record = cluster.upsert_pod(pod(namespace=namespace))
    return plan(Job(record.uid, (record,)), cluster, profile)


def scores(cluster: Cluster, profile: Profile, plugin: str) -> dict[str, int]:
    record = cluster.upsert_pod(pod())
    rows = np.flatnonzero(cluster.nodes.live)
    (score,) = [score for score, _ in profile.scores if score.name == plugin]
    return {cluster.nodes.names[r]: int(s) for r, s in zip(rows, score.score(record.shape, cluster, rows), strict=True)}


def test_an_installed_plugin_is_off_until_a_profile_enables_it(installed):
    assert names(third_party()) == ["CheapNodes", "TeamNodes"]
    assert "TeamNodes" not in names(default_profile("x").filters)


def test_a_plugin_that_nobody_enables_is_not_even_imported(installed):
    default_profile("x")
    assert not any(name.startswith("koordpy_example") for name in sys.modules)


def test_the_example_configuration_enables_both_behind_the_defaults(installed):
    profile = example_profile()
    assert names(profile.filters)[-1] == "TeamNodes"
    assert [(score.name, weight) for score, weight in profile.scores][-1] == ("CheapNodes", 5)


def test_the_filter_keeps_pods_off_the_nodes_of_another_team(installed):
    decision = answer(cluster_of(n1={TEAM: "blue"}, n2={TEAM: "green"}), example_profile())
    assert decision.message == "0/2 nodes are available: 2 node(s) belonged to another team."


@pytest.mark.parametrize("labels", [{TEAM: "red"}, {}])
def test_the_filter_accepts_nodes_of_the_own_team_and_of_nobody(installed, labels):
    decision = answer(cluster_of(n1={TEAM: "blue"}, n2=labels), example_profile())
    assert decision.placements[0].node == "n2"


def test_a_relabelled_node_is_judged_anew(installed):
    cluster, profile = cluster_of(n1={TEAM: "blue"}), example_profile()
    assert isinstance(answer(cluster, profile), Refusal)
    cluster.upsert_node(node("n1", labels={TEAM: "red"}))
    assert isinstance(answer(cluster, profile), Plan)


def test_the_score_follows_the_price_on_the_configured_label(installed):
    cluster = cluster_of(n1={PRICE: "3"}, n2={PRICE: "1"}, n3={PRICE: "2"}, n4={PRICE: "free"}, n5={})
    assert scores(cluster, example_profile(), "CheapNodes") == {"n1": 0, "n2": 100, "n3": 50, "n4": 0, "n5": 0}


def test_the_score_decides_between_nodes_that_are_equal_otherwise(installed):
    cluster = cluster_of(n1={PRICE: "2"}, n2={PRICE: "1"})
    assert answer(cluster, default_profile("x")).placements[0].node == "n1"  # by name
    assert answer(cluster, example_profile()).placements[0].node == "n2"


def test_arguments_that_a_plugin_does_not_take_are_named(installed, tmp_path):
    with pytest.raises(BadConfig, match=r"profiles\[0\].pluginConfig of TeamNodes: .*'lable'"):
        profile_of(
            tmp_path,
            "{plugins: {filter: {enabled: [{name: TeamNodes}]}}, pluginConfig: [{name: TeamNodes, args: {lable: x}}]}",
        )


def test_a_filter_cannot_be_enabled_as_a_score(installed, tmp_path):
    with pytest.raises(BadConfig, match=r"plugins.score.enabled\[0\].name: 'TeamNodes' has no score"):
        profile_of(tmp_path, "{plugins: {score: {enabled: [{name: TeamNodes}]}}}")


def test_a_package_that_cannot_be_imported_stops_only_those_who_enable_it(tmp_path, monkeypatch):
    offer(tmp_path / "site", "broken", {"koordpy.filters": {"Broken": "no_such_module:make"}})
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert profile_of(tmp_path, "{}")
    with pytest.raises(BadConfig, match=r"pluginConfig of Broken: No module named 'no_such_module'"):
        profile_of(tmp_path, "{plugins: {filter: {enabled: [{name: Broken}]}}}")


def test_a_name_that_two_packages_offer_is_refused_when_it_is_enabled(installed, tmp_path, monkeypatch):
    offer(tmp_path / "more", "rival", {"koordpy.filters": {"TeamNodes": "rival:make"}})
    monkeypatch.syspath_prepend(tmp_path / "more")
    with pytest.raises(BadConfig, match="'TeamNodes' is offered by koordpy-example and by rival; remove one"):
        profile_of(tmp_path, "{plugins: {filter: {enabled: [{name: TeamNodes}]}}}")


def test_a_package_cannot_take_the_name_of_a_built_in_plugin(tmp_path, monkeypatch):
    offer(tmp_path / "site", "rival", {"koordpy.scores": {"NodeAffinity": "rival:make"}})
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert "NodeAffinity" in names(profile_of(tmp_path, "{}").filters)
    with pytest.raises(BadConfig, match="'NodeAffinity' is offered by koordpy and by another package"):
        profile_of(tmp_path, "{plugins: {score: {enabled: [{name: NodeAffinity}]}}}")


def test_what_is_no_filter_is_refused_at_the_start(tmp_path, monkeypatch):
    offer(tmp_path / "site", "odd", {"koordpy.filters": {"Odd": "builtins:dict"}})
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(BadConfig, match=r"Odd gave a dict, which is no koordpy\.plugin\.Filter"):
        profile_of(tmp_path, "{plugins: {filter: {enabled: [{name: Odd}]}}}")


@pytest.mark.parametrize(
    "file",
    [
        "pyproject.toml",
        "config.yaml",
        "koordpy_example/team_nodes.py",
        "koordpy_example/cheap_nodes.py",
        "test_plugins.py",
    ],
)
def test_the_guide_shows_the_example_as_it_is(file):
    assert (EXAMPLE / file).read_text().strip() in (ROOT / "docs" / "plugins.md").read_text()


def test_the_tests_of_the_example_hold(installed, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)
    module = importlib.import_module("test_plugins")
    try:
        tests = [value for name, value in vars(module).items() if name.startswith("test_")]
        assert len(tests) == 2
        for test in tests:
            test()
    finally:
        del sys.modules["test_plugins"]
