"""Where the HTTP server listens; importing it does not load the web server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Serving:
    """The address of health, metrics and the API for gangs; plain HTTP without a certificate."""

    address: str = "0.0.0.0"  # noqa: S104 - kubelets and Prometheus ask from outside the pod
    port: int = 10251
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    authorization: str = "off"  # delegated: the API server is asked who may ask
    always_allow_paths: tuple[str, ...] = ()  # beside health, without a question
