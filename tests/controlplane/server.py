"""A real etcd and kube-apiserver on loopback, for as long as a test run needs them.

Owns its processes, its temporary directory and nothing else: it stops only what it started. It has no opinion
about what the tests put into the cluster; `fixtures.py` cleans that.
"""

import asyncio
import json
import shutil
import signal
import ssl
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Literal, Self

import yaml

from tests.controlplane import flags
from tests.controlplane.build import build
from tests.controlplane.certificates import Authority, service_account_keys, trusting
from tests.controlplane.process import Process, StartError, free_ports

Authorization = Literal["AlwaysAllow", "RBAC"]

ADMIN_TOKEN = "admin-token"
NOBODY_TOKEN = "nobody-token"  # authenticated, and with RBAC allowed nothing
OTHER_TOKEN = "other-token"  # likewise, to tell two apart
READY_SECONDS = 60  # on an idle machine it takes five; two cores under a whole test run are slower
STOP_SECONDS = 20
ATTEMPTS = 3
PORT_TAKEN = "address already in use"


class ControlPlane:
    """`start()` it, give `url` and `ca_path` (or a `kubeconfig`) to a client, `close()` it.

    `stop()` and `start()` again keep ports and data: to a client this is a control plane that was restarted.
    """

    def __init__(self, authorization: Authorization = "AlwaysAllow", audit_policy: object = None) -> None:
        self.authorization = authorization
        self._audit_policy = audit_policy
        self.directory = Path(tempfile.mkdtemp(prefix="koordpy-controlplane-"))
        self._binaries = build(("etcd", "kube-apiserver"))
        self._etcd: Process | None = None
        self._apiserver: Process | None = None
        self._etcd_ports: list[int] = []
        self._port = 0
        self._write_credentials()

    def _write_credentials(self) -> None:
        authority = Authority(self.directory)
        authority.serving()
        self.ca_path = authority.pair.certificate
        self.admin = authority.client("admin", "system:masters")
        service_account_keys(self.directory)
        tokens = f'{ADMIN_TOKEN},admin,1,"system:masters"\n{NOBODY_TOKEN},nobody,2\n{OTHER_TOKEN},other,3\n'
        (self.directory / "tokens.csv").write_text(tokens)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    @property
    def etcd_url(self) -> str:
        return f"http://127.0.0.1:{self._etcd_ports[0]}"

    @property
    def audit_log(self) -> Path:
        """Of what `audit_policy` asks for."""
        return self.directory / "audit.log"

    @property
    def running(self) -> bool:
        return all(process is not None and process.running for process in (self._etcd, self._apiserver))

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in (self._etcd, self._apiserver) if process is not None]

    def start(self) -> None:
        """Start what is not running, and return when the API server is ready."""
        try:
            if self._etcd is None or not self._etcd.running:
                self._start_etcd()
            if self._apiserver is None or not self._apiserver.running:
                self._start_apiserver()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop both programs; ports and data stay for the next `start()`."""
        for process in (self._apiserver, self._etcd):
            if process is not None:
                process.signal(signal.SIGTERM)
                process.wait_stopped(STOP_SECONDS)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def stop_apiserver(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Take only the API server away, without holding up the event loop; SIGKILL makes it a crash."""
        if self._apiserver is not None:
            self._apiserver.signal(how)
            await asyncio.to_thread(self._apiserver.wait_stopped, STOP_SECONDS)

    async def start_apiserver(self) -> None:
        """Bring the API server back on the port it had."""
        process = self._spawn_apiserver()
        await asyncio.to_thread(process.wait_until, self._apiserver_ready, READY_SECONDS)

    def _start_etcd(self) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            # A restarted etcd may move: only our API server knows where it is, and that starts after it.
            self._etcd_ports = free_ports(2)
            command = [self._binaries["etcd"], *flags.etcd(self.directory, *self._etcd_ports)]
            self._etcd = Process("etcd", command, self.directory / "etcd.log")
            try:
                self._etcd.wait_until(self._etcd_ready, READY_SECONDS)
            except StartError as error:
                if PORT_TAKEN not in str(error) or attempt == ATTEMPTS:
                    raise
            else:
                return

    def _start_apiserver(self) -> None:
        fresh = self._port == 0
        for attempt in range(1, ATTEMPTS + 1):
            if fresh:  # clients know the port of a restarted server: that one stays
                (self._port,) = free_ports(1)
            process = self._spawn_apiserver()
            try:
                process.wait_until(self._apiserver_ready, READY_SECONDS)
            except StartError as error:
                if PORT_TAKEN not in str(error) or attempt == ATTEMPTS:
                    raise
            else:
                return

    def _spawn_apiserver(self) -> Process:
        arguments = flags.apiserver(self.directory, self._port, self.etcd_url, self.authorization)
        if self._audit_policy is not None:
            (self.directory / "audit.json").write_text(json.dumps(self._audit_policy))
            arguments += flags.auditing(self.directory)
        command = [self._binaries["kube-apiserver"], *arguments]
        self._apiserver = Process("kube-apiserver", command, self.directory / "kube-apiserver.log")
        return self._apiserver

    def _etcd_ready(self) -> bool:
        return _answers(urllib.request.Request(f"{self.etcd_url}/health"), None)

    def _apiserver_ready(self) -> bool:
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
        return _answers(urllib.request.Request(f"{self.url}/readyz", headers=headers), trusting(self.ca_path))

    def kubeconfig(
        self, path: Path, *, token: str | None = None, namespace: str = "default", context: str = "test"
    ) -> Path:
        """Write a kubeconfig to `path`: with the token if one is given, else the admin's certificate."""
        certificate = {
            "client-certificate": str(self.admin.certificate),
            "client-key": str(self.admin.key),
        }
        cluster = {"server": self.url, "certificate-authority": str(self.ca_path)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": token} if token else certificate}],
            "contexts": [{"name": context, "context": {"cluster": "test", "user": "test", "namespace": namespace}}],
            "current-context": context,
        }
        path.write_text(yaml.safe_dump(content))
        return path


def _answers(request: urllib.request.Request, trusted: ssl.SSLContext | None) -> bool:
    # No proxy, whatever the environment says: nothing here leaves the machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusted))
    try:
        with opener.open(request, timeout=5) as reply:
            return reply.status == 200
    except (urllib.error.URLError, OSError):  # refused, or an error status while it is not ready
        return False
