"""Plain credentials: the service account of a pod, and kubeconfigs with tokens or client certificates.

Importing kubernetes_asyncio takes 0.4 s of CPU and 40 MB, most of what a scheduler needs to start. So the common cases
are read here. All others (exec plugins, OIDC, errors that need a good message) are left to that library; see
`credentials.py`.
"""

from __future__ import annotations

import atexit
import base64
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from koordpy.kube.auth.kubeconfigs import chosen_context, files_of, joined

_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_FILES = ("client-certificate", "client-key", "certificate-authority")
_USER_FIELDS = {"token", "tokenFile", "client-certificate", "client-key", "client-certificate-data", "client-key-data"}
_CLUSTER_FIELDS = {
    "server", "certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify", "tls-server-name",
    "proxy-url",
}  # fmt: skip


@dataclass
class Identity:
    """The fields of kubernetes_asyncio's Configuration that koordpy reads, so that either can be used."""

    host: str
    ssl_ca_cert: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify_ssl: bool = True
    tls_server_name: str | None = None
    proxy: str | None = None
    api_key: dict[str, str] = field(default_factory=dict)


# --- the service account ---


def in_a_pod() -> bool:
    """As client-go finds out: the address of the API server is in the environment, and the token is mounted."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT")
    return bool(host and port and (_SERVICE_ACCOUNT / "token").is_file())


def of_service_account() -> Identity:
    """Raises OSError or ValueError, with a message for the user, outside of a pod."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ValueError("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
    address = f"[{host}]" if ":" in host else host
    token = _token_in(_SERVICE_ACCOUNT / "token")
    return Identity(
        f"https://{address}:{port}", ssl_ca_cert=str(_SERVICE_ACCOUNT / "ca.crt"), api_key={"BearerToken": token}
    )


# --- kubeconfigs ---


def of_kubeconfig(path: str, context: str | None) -> Identity | None:
    """None if it is not plain, or invalid; raises OSError or ValueError if there is no such token or context."""
    try:
        content = joined(files_of(path))
        chosen = chosen_context(content, context)
        found = _entries(content, chosen)
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError, KeyError, TypeError, StopIteration):
        return None
    if found is None or not _is_plain(*found):
        return None
    cluster, user = found
    try:
        files = {name: _path_of(name, {**cluster, **user}) for name in _FILES}
    except ValueError:
        return None
    return Identity(
        host=cluster["server"],
        ssl_ca_cert=files["certificate-authority"],
        cert_file=files["client-certificate"],
        key_file=files["client-key"],
        verify_ssl=not cluster.get("insecure-skip-tls-verify", False),
        tls_server_name=cluster.get("tls-server-name") or None,
        proxy=cluster.get("proxy-url") or None,
        api_key=_api_key(user),
    )


def _entries(content: Any, context: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The cluster and the user of a context."""
    chosen = _named(content["contexts"], context)["context"]
    cluster = _named(content["clusters"], chosen["cluster"])["cluster"]
    user = _named(content["users"], chosen["user"])["user"]
    if not isinstance(cluster, dict) or not isinstance(user or {}, dict):
        return None
    return {key: value for key, value in cluster.items() if key != "extensions"}, user or {}  # such as minikube's


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _is_plain(cluster: dict[str, Any], user: dict[str, Any]) -> bool:
    if not cluster.keys() <= _CLUSTER_FIELDS or not user.keys() <= _USER_FIELDS:
        return False
    texts = [value for key, value in {**cluster, **user}.items() if key != "insecure-skip-tls-verify"]
    return all(isinstance(text, str) for text in texts) and bool(cluster.get("server"))


def _api_key(user: dict[str, Any]) -> dict[str, str]:
    """The bearer token; `tokenFile` takes precedence over `token`, as in kubectl."""
    if user.get("tokenFile"):
        return {"BearerToken": _token_in(Path(user["tokenFile"]))}
    return {"BearerToken": f"Bearer {user['token']}"} if user.get("token") else {}


def _token_in(file: Path) -> str:
    token = file.read_text().strip()
    if not token:
        raise ValueError(f"{file} is empty")
    return f"Bearer {token}"


def _path_of(name: str, entries: dict[str, str]) -> str | None:
    """The path of a certificate or key; inline data is written to a file, since OpenSSL reads files only.

    As in kubectl, inline data takes precedence over a path.
    """
    data = entries.get(f"{name}-data")
    if data:
        return _temporary_file(base64.b64decode(data, validate=True))
    return entries.get(name) or None


_temporary_files: dict[bytes, str] = {}


def _temporary_file(content: bytes) -> str:
    """A temporary file with mode 0600, deleted when the process ends; equal content is written once."""
    if content not in _temporary_files:
        handle, name = tempfile.mkstemp(prefix="koordpy-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        _temporary_files[content] = name
    return _temporary_files[content]


def delete_unused_files(used: Identity | None) -> None:
    """Delete the temporary files that `used` does not name; content that is needed again is written again."""
    kept = (used.ssl_ca_cert, used.cert_file, used.key_file) if used is not None else ()
    for content, name in list(_temporary_files.items()):
        if name not in kept:
            del _temporary_files[content]
            Path(name).unlink(missing_ok=True)


atexit.register(delete_unused_files, None)
