"""What every test can ask for: the real control plane, and kubelets for it."""

import asyncio
import os

import hypothesis
import pytest

from tests.controlplane.build import build
from tests.controlplane.fixtures import control_plane, kubelets, real
from tests.controlplane.golang import BuildError

__all__ = ["control_plane", "kubelets", "real"]


_BUILT_FOR = {  # by the name of a fixture
    "kubectl": "kubectl",
    "controller_manager": "kube-controller-manager",
    "with_controller_manager": "kube-controller-manager",  # of tests that ask for it by name, while they run
}


def _asked_for(session: pytest.Session) -> list[str]:
    fixtures = {name for item in session.items if isinstance(item, pytest.Function) for name in item.fixturenames}
    return [program for fixture, program in _BUILT_FOR.items() if fixture in fixtures]


def pytest_configure() -> None:
    """Say that there is no current event loop: looptime looks for it, and the first look would make one for good."""
    asyncio.set_event_loop(None)
    # By default hypothesis fails an example that takes 200 ms: a timed assertion, on machines that are busy.
    # The examples are the same in every run: what fails was broken by the change. `make fuzz-hostile` tries others.
    hypothesis.settings.register_profile("koordpy", deadline=None, derandomize="HOSTILE" not in os.environ)
    hypothesis.settings.load_profile("koordpy")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first, file by file: begun last, one of them would keep a worker busy while the others idle."""
    longest_first = ("random", "real", "process")

    def place(item: pytest.Item) -> int:
        return next((n for n, name in enumerate(longest_first) if item.get_closest_marker(name)), len(longest_first))

    of_file: dict[str, int] = {}
    for item in items:
        name = item.nodeid.partition("::")[0]
        of_file[name] = min(of_file.get(name, len(longest_first)), place(item))
    items.sort(key=lambda item: of_file[item.nodeid.partition("::")[0]])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what the chosen tests need before the first one: inside a test, its time limit would cut the build off."""
    needed = any(item.get_closest_marker("real") for item in session.items)
    if not needed or session.config.option.collectonly:
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():  # minutes of silence would look like a hang
            build(("etcd", "kube-apiserver", *_asked_for(session)))
    except BuildError as error:
        pytest.exit(f"{error}\n(pytest -m 'not real' runs the tests that need no control plane)", returncode=1)
