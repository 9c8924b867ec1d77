"""The chart: what it renders, what it refuses, and what is made from it."""

import json
import re
from pathlib import Path

import pytest
import yaml

from deploy import chart, render, values
from koordpy import __version__
from koordpy.app.configfile import read_settings
from koordpy.app.crds import definitions
from koordpy.app.settings import Settings

pytestmark = [pytest.mark.real, pytest.mark.process]  # helm is built as the control plane is

DEFINITION = "CustomResourceDefinition"
RENEW = "run 'make manifests'"


@pytest.mark.parametrize("path", sorted(render.files()), ids=lambda path: str(path.relative_to(chart.ROOT)))
def test_a_file_that_is_made_from_the_sources_is_up_to_date(path: Path):
    assert path.read_text() == render.files()[path], RENEW


def test_what_helm_renders_is_what_was_looked_at():
    for path, text in render.rendered().items():
        assert path.read_text() == text, f"{path.name}: look at the difference, then {RENEW}"


def test_helm_finds_nothing_to_complain_about():
    assert "0 chart(s) failed" in chart.helm("lint", "--strict", chart.CHART)


def test_a_value_without_a_comment_is_noticed(tmp_path):
    (tmp_path / "values.yaml").write_text("a:\n  # -- why\n  b: 1\n  c: 2\n")
    with pytest.raises(values.Undocumented, match=r"a\.c"):
        values.read(tmp_path / "values.yaml")


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("scheduler.replica=3", "additional properties 'replica' not allowed"),
        ("scheduler.replicas=0", "/scheduler/replicas"),
        ("scheduler.logLevel=chatty", "/scheduler/logLevel"),
        ("config.profile[0].schedulerName=a", "additional properties 'profile' not allowed"),
        ("config.leaderElection.leaseDuration=soon", "/config/leaderElection/leaseDuration"),
        ("config.profiles=null", "missing property 'profiles'"),
        ("image.digest=latest", "/image/digest"),
        ("authorization.alwaysAllowPaths[0]=metrics", "/authorization/alwaysAllowPaths/0"),
        ("tls.enabled=true", "/tls/secretName"),
        ("tls.enabled=true,tls.certManager.enabled=true", "at '/tls/certManager/issuerRef': missing property 'name'"),
        ("monitoring.serviceMonitor.on=true", "additional properties 'on' not allowed"),
    ],
)
def test_a_wrong_value_is_refused_before_anything_is_installed(setting, complaint):
    with pytest.raises(chart.HelmFailed, match=re.escape(complaint)):
        chart.render(f"--set={setting}")


def configuration(rendered: str, tmp_path: Path) -> Settings:
    (found,) = (each for each in documents(rendered) if each["metadata"]["name"] == "koordpy-config")
    file = tmp_path / "config.yaml"
    file.write_text(found["data"]["config.yaml"])
    settings, _ = read_settings(str(file))
    return settings


def documents(rendered: str) -> list[dict]:
    return [document for document in yaml.safe_load_all(rendered) if document]


def test_the_default_configuration_is_koordpys_own(tmp_path):
    settings = configuration(chart.render(), tmp_path)
    assert settings.leader_election == Settings().leader_election
    assert [profile.scheduler_name for profile in settings.profiles] == ["koord-scheduler"]


def test_every_field_of_the_example_configuration_is_a_value(tmp_path):
    example = yaml.safe_load((chart.ROOT / "examples" / "config.yaml").read_text())
    given = {key: value for key, value in example.items() if key not in {"apiVersion", "kind"}}
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps({"config": given}))
    settings = configuration(chart.render(f"--values={file}"), tmp_path)
    expected, _ = read_settings(str(chart.ROOT / "examples" / "config.yaml"))
    assert [p.scheduler_name for p in settings.profiles] == [p.scheduler_name for p in expected.profiles]
    assert (settings.gangs, settings.leader_election) == (expected.gangs, expected.leader_election)


@pytest.mark.parametrize(("keep", "policy"), [("true", {"helm.sh/resource-policy": "keep"}), ("false", {})])
def test_the_definitions_are_upgraded_with_the_chart_and_stay_when_it_goes(keep, policy):
    found = [each for each in documents(chart.render(f"--set=crds.keep={keep}")) if each["kind"] == DEFINITION]
    ours = {each["metadata"]["name"]: each for each in definitions()}
    assert {each["metadata"]["name"]: each["spec"] for each in found} == {name: ours[name]["spec"] for name in ours}
    for each in found:
        assert policy.items() <= each["metadata"].get("annotations", {}).items()
        assert bool(policy) == ("helm.sh/resource-policy" in each["metadata"].get("annotations", {}))


def test_another_configuration_restarts_the_pods():
    def checksums(rendered: str) -> set[str]:
        pods = [d["spec"]["template"]["metadata"] for d in documents(rendered) if d["kind"] == "Deployment"]
        return {pod["annotations"]["checksum/config"] for pod in pods}

    (before,) = checksums(chart.render())
    (after,) = checksums(chart.render("--set=config.podMaxBackoffSeconds=20"))
    assert before != after


def test_the_right_to_a_lease_is_the_right_to_the_configured_one():
    rendered = chart.render(
        "--set=config.leaderElection.resourceName=other,config.leaderElection.resourceNamespace=there"
    )
    (role,) = (d for d in documents(rendered) if d["metadata"]["name"] == "koordpy-scheduler-leader-election"
               and d["kind"] == "Role")  # fmt: skip
    assert role["metadata"]["namespace"] == "there"
    named = [rule["resourceNames"] for rule in role["rules"] if "leases" in rule["resources"] and len(rule) > 3]
    assert named == [["other"]]


@pytest.mark.parametrize("case", chart.CASES)
def test_pods_run_as_the_restricted_pod_security_standard_wants(case):
    for deployment in (d for d in documents(chart.render_case(case)) if d["kind"] in {"Deployment", "Job"}):
        pod = deployment["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in [*pod.get("initContainers", ()), *pod["containers"]]:
            own = container["securityContext"]
            assert own == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


def test_alerts_and_dashboard_are_those_of_the_repository():
    objects = {each["kind"]: each for each in documents(chart.render_case("everything"))}
    rules = yaml.safe_load((chart.ROOT / "deploy" / "prometheus" / "rules.yaml").read_text())
    assert objects["PrometheusRule"]["spec"] == rules
    on = chart.render("--set=monitoring.dashboard.enabled=true")
    (found,) = (each for each in documents(on) if each["metadata"]["name"] == "koordpy-dashboard")
    dashboard = json.loads((chart.ROOT / "deploy" / "grafana" / "koordpy.json").read_text())
    assert json.loads(found["data"]["koordpy.json"]) == dashboard
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_a_packaged_chart_renders_the_same(tmp_path):
    chart.helm("package", chart.CHART, f"--destination={tmp_path}")
    packed = tmp_path / f"koordpy-{__version__}.tgz"
    assert chart.render(chart=packed) == chart.render()
