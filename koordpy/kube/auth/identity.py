"""Who we are, in the plain cases: the service account of a pod, and kubeconfigs with tokens or client certificates.

Importing kubernetes_asyncio takes 0.4 s of CPU and 40 MB, which is most of what a scheduler needs to start; so what
nearly everybody has is read here. Whatever is not plain (exec plugins, OIDC, several files, mistakes that want a good
message) is not judged here: it is left to that library, see `credentials.py`.
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

_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_FILES = ("client-certificate", "client-key", "certificate-authority")
_OF_A_USER = {"token", "tokenFile", "client-certificate", "client-key", "client-certificate-data", "client-key-data"}
_OF_A_CLUSTER = {
    "server", "certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify", "tls-server-name",
    "proxy-url",
}  # fmt: skip


@dataclass
class Identity:
    """In the words of kubernetes_asyncio's Configuration, so that either will do."""

    host: str
    ssl_ca_cert: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify_ssl: bool = True
    tls_server_name: str | None = None
    proxy: str | None = None
    api_key: dict[str, str] = field(default_factory=dict)


# --- the pod we run in ---


def of_service_account() -> Identity:
    """Raises OSError or ValueError, with words for the user, outside of a pod."""
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
    """None if the file is not plain, or not right; raises OSError or ValueError if its token cannot be read."""
    if os.pathsep in path:
        return None
    file = Path(path).expanduser()
    try:
        found = _entries(yaml.safe_load(file.read_bytes()), context)
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError, KeyError, TypeError, StopIteration):
        return None
    if found is None or not _is_plain(*found):
        return None
    cluster, user = found
    try:
        files = {name: _file(name, {**cluster, **user}, file.parent) for name in _FILES}
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
        api_key=_key(user, file.parent),
    )


def _entries(content: Any, context: str | None) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The cluster and the user of a context."""
    chosen = _named(content["contexts"], context or content["current-context"])["context"]
    cluster = _named(content["clusters"], chosen["cluster"])["cluster"]
    user = _named(content["users"], chosen["user"])["user"]
    if not isinstance(cluster, dict) or not isinstance(user or {}, dict):
        return None
    return {key: value for key, value in cluster.items() if key != "extensions"}, user or {}  # notes, as of minikube


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _is_plain(cluster: dict[str, Any], user: dict[str, Any]) -> bool:
    if not cluster.keys() <= _OF_A_CLUSTER or not user.keys() <= _OF_A_USER:
        return False
    texts = [value for key, value in {**cluster, **user}.items() if key != "insecure-skip-tls-verify"]
    return all(isinstance(text, str) for text in texts) and bool(cluster.get("server"))


def _key(user: dict[str, Any], beside: Path) -> dict[str, str]:
    """A token file wins over a token, as for kubectl."""
    if user.get("tokenFile"):
        return {"BearerToken": _token_in(beside / user["tokenFile"])}
    return {"BearerToken": f"Bearer {user['token']}"} if user.get("token") else {}


def _token_in(file: Path) -> str:
    token = file.read_text().strip()
    if not token:
        raise ValueError(f"{file} is empty")
    return f"Bearer {token}"


def _file(name: str, entries: dict[str, str], beside: Path) -> str | None:
    """The path of a certificate or key; what stands in the kubeconfig itself is written out, since OpenSSL wants files.

    As for kubectl, what stands there wins over a path.
    """
    data = entries.get(f"{name}-data")
    if data:
        return _written_out(base64.b64decode(data, validate=True))
    return str(beside / entries[name]) if entries.get(name) else None


_written: dict[bytes, str] = {}


def _written_out(content: bytes) -> str:
    """A file that only we can read, for as long as we run; the same content is written once."""
    if content not in _written:
        handle, name = tempfile.mkstemp(prefix="koordpy-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        _written[content] = name
    return _written[content]


def forget_written_but(used: Identity | None) -> None:
    """Delete what was written out and has been replaced since; whoever needs it after all has it written again."""
    kept = (used.ssl_ca_cert, used.cert_file, used.key_file) if used is not None else ()
    for content, name in list(_written.items()):
        if name not in kept:
            del _written[content]
            Path(name).unlink(missing_ok=True)


atexit.register(forget_written_but, None)
