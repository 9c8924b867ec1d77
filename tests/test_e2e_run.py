"""`make e2e` without a cluster: who gives one, and when a run that did not happen is a failure."""

import pytest

from e2e import __main__ as command
from e2e.cluster import machine, providers
from e2e.cluster.programs import CannotRun, Failed


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that can give no cluster."""
    monkeypatch.setattr(providers, "_why_not_existing", lambda: "KUBECONFIG is not set")
    monkeypatch.setattr(providers, "_why_not_stock", lambda: "no Docker daemon answers")
    monkeypatch.setattr(machine, "why_not", lambda **_: "needs root")
    monkeypatch.delenv("E2E_REQUIRED", raising=False)
    return monkeypatch


def test_a_machine_that_cannot_says_why_and_does_not_fail(nothing, capsys):
    assert command.main(["run"]) == 0
    said = capsys.readouterr().out
    assert "DID NOT RUN" in said
    assert "kind with a node image made from packages: needs root" in said


def test_it_fails_where_it_is_required(nothing):
    nothing.setenv("E2E_REQUIRED", "1")
    assert command.main(["run"]) == 1


def test_the_first_provider_that_can_is_taken(nothing):
    nothing.setattr(machine, "why_not", lambda **_: "")
    assert providers.choose().name == providers.PACKAGES
    nothing.setattr(providers, "_why_not_stock", lambda: "")
    assert providers.choose().name == providers.STOCK
    nothing.setattr(providers, "_why_not_existing", lambda: "")
    assert providers.choose().name == providers.EXISTING


def test_a_machine_whose_user_gives_a_cluster_is_left_as_it_is(nothing):
    nothing.setattr(providers, "_why_not_existing", lambda: "")
    nothing.setattr(machine, "why_not", lambda **_: pytest.fail("it would have installed packages"))
    assert providers.choose().name == providers.EXISTING


@pytest.fixture
def new_machine(monkeypatch):
    """Root on Debian, without Docker; the list has what was run."""
    ran: list[list[str]] = []
    there = {"apt-get"}

    def run(words, **_):
        ran.append(words)
        if "install" in words:
            there.update(machine._PROGRAMS)
        return ""

    monkeypatch.setattr(machine.os, "geteuid", lambda: 0)
    monkeypatch.setattr(machine.shutil, "which", lambda name: name if name in there else None)
    monkeypatch.setattr(machine, "run", run)
    monkeypatch.delenv("E2E_INSTALL", raising=False)
    return ran


def test_a_new_machine_gets_its_packages_where_we_are_root(new_machine, capsys):
    assert machine.why_not() == ""
    assert [word for word in new_machine[-1] if word == "mmdebstrap"]
    assert "apt-get install" in capsys.readouterr().out
    assert machine.why_not() == ""
    assert len(new_machine) == 2, "what is there is not installed again"


def test_nothing_is_installed_to_end_a_cluster(new_machine):
    assert command.main(["down"]) == 1
    assert not any("install" in words for words in new_machine)


def test_packages_are_not_installed_where_that_is_forbidden(new_machine, monkeypatch):
    monkeypatch.setenv("E2E_INSTALL", "0")
    assert "E2E_INSTALL=0 forbids" in machine.why_not()
    assert new_machine == []


def test_packages_that_cannot_be_installed_are_a_reason_and_no_failure(new_machine, monkeypatch):
    def fail(*_, **__):
        raise Failed("apt-get: exit code 100")

    monkeypatch.setattr(machine, "run", fail)
    assert "exit code 100" in machine.why_not()


def test_an_existing_cluster_needs_an_image_that_its_nodes_can_pull(nothing):
    nothing.setenv("KUBECONFIG", "/somewhere")
    nothing.delenv("IMAGE", raising=False)
    with pytest.raises(CannotRun, match="IMAGE must name"):
        providers.Provider(providers.EXISTING).give()


@pytest.fixture
def stories(nothing, monkeypatch):
    """A cluster that is given at once, and stories that end as they are told."""
    ended = []
    monkeypatch.setattr(providers, "_why_not_existing", lambda: "")
    monkeypatch.setattr(providers.Provider, "give", lambda _: None)
    monkeypatch.setattr(providers.Provider, "end", lambda _: ended.append("ended"))
    monkeypatch.delenv("KEEP", raising=False)
    return ended


def test_a_story_that_fails_fails_the_run_and_the_cluster_goes(stories, monkeypatch):
    monkeypatch.setattr(command, "_tell", lambda *_: 1)
    assert command.main(["run"]) == 1
    assert stories == ["ended"]


def test_an_image_that_cannot_be_built_fails_the_run(stories, monkeypatch):
    def fail(_: object) -> None:
        raise Failed("docker build: exit code 1")

    monkeypatch.setattr(providers.Provider, "give", fail)
    assert command.main(["run"]) == 1
    assert stories == ["ended"]
