"""kube-controller-manager beside a test control plane, with the controllers that a test names and no others."""

import signal
from pathlib import Path

from tests.controlplane.build import build
from tests.controlplane.process import Process
from tests.controlplane.server import ControlPlane

STOP_SECONDS = 10


class ControllerManager:
    """`start` it when the definitions are there: its garbage collector looks for new ones only every half minute."""

    def __init__(self, control_plane: ControlPlane, directory: Path, *controllers: str) -> None:
        self._control_plane, self._directory, self._controllers = control_plane, directory, controllers
        self._process: Process | None = None

    def start(self) -> None:
        if self._process is not None and self._process.running:
            return
        kubeconfig = self._control_plane.kubeconfig(self._directory / "kubeconfig")
        program = build(("kube-controller-manager",))["kube-controller-manager"]
        flags = ["--leader-elect=false", "--secure-port=0", f"--controllers={','.join(self._controllers)}"]
        command = [program, f"--kubeconfig={kubeconfig}", *flags]
        self._process = Process("kube-controller-manager", command, self._directory / "log")

    def close(self) -> None:
        if self._process is not None:
            self._process.signal(signal.SIGTERM)
            self._process.wait_stopped(STOP_SECONDS)
