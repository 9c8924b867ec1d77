"""Health, metrics and gangs as they are served, with and without TLS."""

from __future__ import annotations

import datetime as dt
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from e2e.stories.cluster import SYSTEM, Cluster, phases, until
from tests.controlplane.operators import definitions

SECRET = "koordpy-serving"
OPERATED = (
    "certificates.cert-manager.io,servicemonitors.monitoring.coreos.com,prometheusrules.monitoring.coreos.com,"
    "networkpolicies.networking.k8s.io"
)


def test_metrics_are_served_through_the_service(cluster: Cluster) -> None:
    path = f"/api/v1/namespaces/{SYSTEM}/services/http:koordpy-scheduler:http/proxy/metrics"
    assert "koordpy_gang_attempts_total" in cluster.kubectl("get", "--raw", path)


def test_with_a_certificate_everything_is_served_over_tls_and_probed_so(cluster: Cluster, tmp_path: Path) -> None:
    _give(cluster, *_certificate(tmp_path))
    cluster.install("tls.enabled=true", f"tls.secretName={SECRET}")
    pods = cluster.list("pods", SYSTEM, "app.kubernetes.io/component=scheduler")
    until(lambda: phases(cluster.list("pods", SYSTEM)) == ["Running"] * 4, "all are ready, probed over TLS")
    assert any("tls.crt" in argument for argument in pods[0]["spec"]["containers"][0]["args"])
    path = f"/api/v1/namespaces/{SYSTEM}/services/https:koordpy-scheduler:http/proxy/readyz"
    assert cluster.kubectl("get", "--raw", path) == "ok"
    until(lambda: cluster.koord("jobs")[0] == 0, "`kubectl koord` finds out that it is TLS")


def test_a_renewed_certificate_is_shown_without_a_restart(cluster: Cluster, tmp_path: Path) -> None:
    """The pods are those of the story before."""
    (pod, *_) = (each["metadata"]["name"] for each in cluster.list("pods", SYSTEM, "app.kubernetes.io/name=koordpy"))
    renewed = _certificate(tmp_path)
    with _forwarded(cluster, pod) as port:
        assert ssl.get_server_certificate(("127.0.0.1", port)) != renewed[0].read_text()
        _give(cluster, *renewed)
        # Kubelet looks at a Secret once a minute, or when the pod changes.
        cluster.kubectl("annotate", "pod", pod, f"--namespace={SYSTEM}", "koordpy.test/look=again")
        shown = renewed[0].read_text()
        until(lambda: ssl.get_server_certificate(("127.0.0.1", port)) == shown, "the new certificate is shown")


def test_objects_for_cert_manager_prometheus_and_the_network_are_made(cluster: Cluster, operators: None) -> None:  # noqa: ARG001
    """Their definitions are real, their operators are not there: the Secret is the one of the stories before."""
    tls = ["tls.enabled=true", f"tls.secretName={SECRET}", "tls.certManager.enabled=true"]
    monitoring = ["monitoring.serviceMonitor.enabled=true", "monitoring.prometheusRule.enabled=true"]
    cluster.install(*tls, "tls.certManager.issuerRef.name=nobody", *monitoring, "networkPolicy.enabled=true")
    made = {(each["kind"], each["metadata"]["name"]) for each in cluster.list(OPERATED, SYSTEM)}
    assert made == {(kind, "koordpy") for kind in ("Certificate", "ServiceMonitor", "PrometheusRule", "NetworkPolicy")}
    cluster.install()
    assert cluster.list(OPERATED, SYSTEM) == []
    cluster.kubectl("delete", "secret", SECRET, f"--namespace={SYSTEM}")


@pytest.fixture
def operators(cluster: Cluster) -> Iterator[None]:
    with cluster.with_definitions(definitions()):
        yield


def _give(cluster: Cluster, certificate: Path, key: Path) -> None:
    """Make or replace the Secret."""
    words = ["create", "secret", "tls", SECRET, f"--cert={certificate}", f"--key={key}", f"--namespace={SYSTEM}"]
    cluster.kubectl("apply", "-f", "-", given=cluster.kubectl(*words, "--dry-run=client", "-o", "yaml"))


@contextmanager
def _forwarded(cluster: Cluster, pod: str) -> Iterator[int]:
    """A port of this machine that leads to the pod's."""
    with cluster.kubectl_that_goes_on("port-forward", f"--namespace={SYSTEM}", pod, ":http") as lines:
        yield int(next(lines).split()[2].rpartition(":")[2])  # Forwarding from 127.0.0.1:41053 -> 10251


def _certificate(directory: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"koordpy-scheduler.{SYSTEM}.svc")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (directory / "tls.crt").write_bytes(made.public_bytes(pem))
    (directory / "tls.key").write_bytes(key.private_bytes(pem, *form))
    return directory / "tls.crt", directory / "tls.key"
