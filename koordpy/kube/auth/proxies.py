"""The proxy to the API server: that of the kubeconfig, else that of the environment, as in kubectl.

The `proxy-url` of a kubeconfig applies to every server. `HTTPS_PROXY` (`HTTP_PROXY` if the server has no TLS) does not
apply to this machine itself, nor to the entries of `NO_PROXY`, which are parsed as Go does. It opens no connection.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

IP = ipaddress.IPv4Address | ipaddress.IPv6Address


class BadProxy(ValueError):
    """A proxy that cannot be used; `str()` is one line without the password."""


class Proxy(NamedTuple):
    """An HTTP proxy."""

    host: str
    port: int
    authorization: str = ""  # the value of Proxy-Authorization

    def __str__(self) -> str:
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"


def proxy_for(url: str, proxy_url: str | None, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy for a server at this URL; raises BadProxy."""
    if proxy_url:
        return _proxy("proxy-url", proxy_url)
    server = urlsplit(url)
    is_tls = server.scheme != "http"
    name, value = _first(environ, "HTTPS_PROXY" if is_tls else "HTTP_PROXY")
    if not value:
        return None
    _, exceptions = _first(environ, "NO_PROXY")
    if is_exempt(server.hostname or "", server.port or (443 if is_tls else 80), exceptions):
        return None
    return _proxy(name, value, scheme="" if "://" in value else "http://")


def _first(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """The name and value of the variable, in upper or lower case."""
    return next(((each, environ[each]) for each in (name, name.lower()) if environ.get(each)), (name, ""))


def _proxy(source: str, value: str, scheme: str = "") -> Proxy:
    shown = _without_password(value)
    try:
        parts = urlsplit(scheme + value)
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        raise BadProxy(f"{source}: {shown!r} is not the URL of a proxy") from None
    if parts.scheme != "http":
        raise BadProxy(f"{source}: {shown!r} cannot be used: only http:// proxies can")
    if not host:
        raise BadProxy(f"{source}: {shown!r} is not the URL of a proxy")
    if parts.username is None:
        return Proxy(host, port)
    secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Proxy(host, port, "Basic " + base64.b64encode(secret.encode()).decode())


def _without_password(value: str) -> str:
    before, at, host = value.rpartition("@")
    scheme, found, _ = before.partition("://")
    return f"{scheme}://***@{host}" if at and found else f"***@{host}" if at else value


# --- NO_PROXY ---


def is_exempt(host: str, port: int, no_proxy: str) -> bool:
    """Whether a server is reached directly; `no_proxy` lists hosts, domains, addresses and CIDRs."""
    host = host.strip().lower()
    ip = _ip(host)
    if host == "localhost" or (ip is not None and ip.is_loopback):
        return True
    entries = (entry.strip() for entry in no_proxy.lower().split(","))
    return any(_matches(entry, host, port, ip) for entry in entries if entry)


def _matches(entry: str, host: str, port: int, ip: IP | None) -> bool:
    if entry == "*":
        return True
    if (network := _network(entry)) is not None:
        return ip is not None and ip in network
    name, only_port = _host_and_port(entry)
    if not name or (only_port and only_port != str(port)):
        return False
    if (address := _ip(name)) is not None or ip is not None:
        return address == ip
    domain = name[1:] if name.startswith("*.") else name
    return host.endswith(domain if domain.startswith(".") else f".{domain}") or host == domain


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    if not entry.rpartition("/")[2].isdecimal() or "/" not in entry:
        return None  # also 10.0.0.0/255.0.0.0, which Go does not accept
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None


def _host_and_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        host, _, port = entry[1:].partition("]:")
        return host, port
    host, _, port = entry.partition(":")
    return (host, port) if ":" not in port else (entry, "")  # otherwise it is an IPv6 address


def _ip(text: str) -> IP | None:
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip
