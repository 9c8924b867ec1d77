"""Where health, metrics and answers are served."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Serving:
    """Health and metrics."""

    address: str = "0.0.0.0"  # noqa: S104 - kubelets and Prometheus ask from outside the pod
    port: int = 10251
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
