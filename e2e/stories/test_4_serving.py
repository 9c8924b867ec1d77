"""Health, metrics and gangs as they are served, with and without TLS."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from e2e.stories.cluster import SYSTEM, Cluster, phases, until


def test_metrics_are_served_through_the_service(cluster: Cluster) -> None:
    path = f"/api/v1/namespaces/{SYSTEM}/services/http:koordpy-scheduler:http/proxy/metrics"
    assert "koordpy_gang_attempts_total" in cluster.kubectl("get", "--raw", path)


def test_with_a_certificate_everything_is_served_over_tls_and_probed_so(cluster: Cluster, tmp_path: Path) -> None:
    certificate, key = _certificate(tmp_path)
    cluster.kubectl(
        "create", "secret", "tls", "koordpy-serving", f"--cert={certificate}", f"--key={key}", f"--namespace={SYSTEM}"
    )
    cluster.install("tls.enabled=true", "tls.secretName=koordpy-serving")
    pods = cluster.list("pods", SYSTEM, "app.kubernetes.io/component=scheduler")
    until(lambda: phases(cluster.list("pods", SYSTEM)) == ["Running"] * 4, "all are ready, probed over TLS")
    assert any("tls.crt" in argument for argument in pods[0]["spec"]["containers"][0]["args"])
    path = f"/api/v1/namespaces/{SYSTEM}/services/https:koordpy-scheduler:http/proxy/readyz"
    assert cluster.kubectl("get", "--raw", path) == "ok"
    cluster.install()
    cluster.kubectl("delete", "secret", "koordpy-serving", f"--namespace={SYSTEM}")


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
