"""Finding the scheduler and asking it: through the API server's service proxy with the user's own rights, or by URL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from urllib.parse import quote

import msgspec

from koordpy.api.answers import PATH, Status
from koordpy.app.process import CannotStart
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.errors import ApiError, Unavailable, error_of
from koordpy.kube.http.transport import JSON, HttpTransport, Response

_SERVICES = "/api/v1/services?labelSelector=" + quote(
    "app.kubernetes.io/name=koordpy,app.kubernetes.io/component=scheduler", safe=""
)
_USUAL = "koordpy-system/koordpy-scheduler"  # where the chart puts it, for users who may not list services
_PORT = "http"
_TIMEOUT_S = 35.0
_TRIES = 12  # a service leads to any replica, and only one of them leads
_HINT = "--server URL asks it directly, after: kubectl port-forward -n NAMESPACE deployment/koordpy-scheduler 10251"

Ask = Callable[[str, bytes | None], Awaitable[bytes]]


class _Services(msgspec.Struct):
    items: list[_Service] = []


class _Service(msgspec.Struct):
    metadata: _Named


class _Named(msgspec.Struct):
    name: str
    namespace: str


@asynccontextmanager
async def scheduler(server: str, service: str, kubeconfig: str | None, context: str | None) -> AsyncIterator[Ask]:
    """Asks the scheduler for a path; raises CannotStart with one line."""
    if server:
        # Whoever names a kubeconfig wants to be known: a token is sent to no address without that.
        known = await load_credentials(kubeconfig, context) if kubeconfig or context else None
        async with _by_url(server.rstrip("/"), await known.headers() if known is not None else {}) as ask:
            yield ask
        return
    credentials = await load_credentials(kubeconfig, context)
    async with HttpTransport(credentials, connections=1) as transport:
        base: list[str] = []

        async def ask(path: str, body: bytes | None) -> bytes:
            if not base:
                base.extend(await _proxies(transport, service))
            return await _through(transport, base, path, body)

        yield ask


async def _proxies(transport: HttpTransport, service: str) -> list[str]:
    """The paths of the scheduler's service behind the API server, plain and with TLS."""
    if not service:
        try:
            answer = await transport.send("GET", _SERVICES, content_type=JSON, timeout_s=_TIMEOUT_S)
        except ApiError as error:
            raise CannotStart(f"the API server cannot be used: {error}") from error
        if answer.status == 200:
            found = msgspec.json.decode(answer.body, type=_Services).items
            if not found:
                raise CannotStart(f"no service of a koordpy scheduler is in the cluster; {_HINT}")
            service = f"{found[0].metadata.namespace}/{found[0].metadata.name}"
        else:
            service = _USUAL
    namespace, slash, name = service.partition("/")
    if not slash:
        raise CannotStart(f"--service {service} is not NAMESPACE/NAME")
    return [f"/api/v1/namespaces/{namespace}/services/{tls}:{name}:{_PORT}/proxy" for tls in ("http", "https")]


async def _through(transport: HttpTransport, proxies: list[str], path: str, body: bytes | None) -> bytes:
    answer = Response(0, b"")
    for number in range(_TRIES):
        where = proxies[0] + PATH + path
        try:
            answer = await transport.send(
                "GET" if body is None else "POST", where, body or b"", content_type=JSON, timeout_s=_TIMEOUT_S
            )
        except Unavailable as error:
            raise CannotStart(f"the API server cannot be used: {error}") from error
        if answer.status == 200:
            return answer.body
        if answer.status in (400, 502) and _status(answer.body) is None and len(proxies) > 1:
            del proxies[0]  # what listens there speaks TLS
            continue
        if answer.status != 503 or "does not lead" not in _message(answer):
            break
        await asyncio.sleep(0.05 * number)
    if answer.status == 403:
        raise CannotStart(f"you may not ask the scheduler: {_message(answer)}")
    if answer.status == 503 and "does not lead" not in _message(answer):
        raise CannotStart(f"the scheduler does not answer: {_message(answer)}; {_HINT}")
    raise CannotStart(_message(answer))


@asynccontextmanager
async def _by_url(server: str, headers: dict[str, str]) -> AsyncIterator[Ask]:
    import aiohttp  # noqa: PLC0415 - heavy

    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
    async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:

        async def ask(path: str, body: bytes | None) -> bytes:
            method = "GET" if body is None else "POST"
            try:
                async with session.request(method, server + PATH + path, data=body) as answer:
                    found = Response(answer.status, await answer.read())
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                raise CannotStart(f"{server} does not answer: {error or type(error).__name__}") from error
            if found.status != 200:
                raise CannotStart(_message(found))
            return found.body

        yield ask


def _status(body: bytes) -> Status | None:
    try:
        return msgspec.json.decode(body, type=Status)
    except msgspec.DecodeError:
        return None


def _message(answer: Response) -> str:
    """What the scheduler, or the API server, says is wrong."""
    status = _status(answer.body)
    if status is not None and status.message:
        return status.message
    return str(error_of("GET", "", answer.status, answer.body))
