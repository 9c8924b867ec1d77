"""The scheduler behind the API server's service proxy: where it is, and a token that it takes from us.

The API server keeps our own credentials to itself: what it passes on comes from nobody. So it is asked for a token of
an account that can ask the scheduler and do nothing else, for a few minutes; whoever may have one may ask. A token of
the user's own is never sent there.
"""

from __future__ import annotations

import asyncio
from typing import Protocol
from urllib.parse import quote

import msgspec

from koordpy.api.answers import AUDIENCE, PATH, TOKEN_HEADER, Status
from koordpy.app.process import CannotStart
from koordpy.kube.errors import Unavailable, error_of
from koordpy.kube.http.transport import JSON, Response

TIMEOUT_S = 35.0
_SERVICES = "/api/v1/services?labelSelector=" + quote(
    "app.kubernetes.io/name=koordpy,app.kubernetes.io/component=scheduler", safe=""
)
_USUAL = "koordpy-system/koordpy-scheduler"  # where the chart puts it, for users who may not list services
_PORT = "http"
_TRIES = 12  # a service leads to any replica, and only one of them leads
_OTHERWISE = 3  # a replica that has just ended cannot be told from one that speaks TLS: both are asked again
_TOKEN_S = 600  # the shortest that the API server makes
_HINT = "--server URL asks it directly, after: kubectl port-forward -n NAMESPACE deployment/koordpy-scheduler 10251"


class Sends(Protocol):
    """A transport that takes headers of ours."""

    async def send(
        self, method: str, path: str, body: bytes = ..., *, content_type: str, timeout_s: float, headers: dict[str, str]
    ) -> Response: ...


class _Services(msgspec.Struct):
    items: list[_Service] = []


class _Service(msgspec.Struct):
    metadata: _Named


class _Named(msgspec.Struct):
    name: str
    namespace: str


class _TokenRequest(msgspec.Struct):
    status: _Token


class _Token(msgspec.Struct):
    token: str


class Proxied:
    """Asks the scheduler of one service; `service` is NAMESPACE/NAME, or empty to look for it."""

    def __init__(self, transport: Sends, service: str) -> None:
        self._transport, self._service = transport, service
        self._schemes = ["http", "https"]
        self._headers: dict[str, str] = {}
        self._without_token = ""  # why the API server made none

    async def ask(self, path: str, body: bytes | None) -> bytes:
        """Raises CannotStart with one line."""
        if not self._service:
            self._service = await self._find()
        if not self._headers:
            await self._get_token()
        answer = await self._patiently(path, body)
        if answer.status == 401 and self._headers:  # asked for more than ten minutes
            await self._get_token()
            answer = await self._patiently(path, body)
        if answer.status != 200:
            raise CannotStart(self._why_not(answer))
        return answer.body

    async def _find(self) -> str:
        answer = await self._send("GET", _SERVICES)
        if answer.status != 200:
            return _USUAL
        found = msgspec.json.decode(answer.body, type=_Services).items
        if not found:
            hint = "if it runs outside, say where: --server http://localhost:10251"
            raise CannotStart(f"no service of a koordpy scheduler is in the cluster; {hint}")
        return f"{found[0].metadata.namespace}/{found[0].metadata.name}"

    async def _get_token(self) -> None:
        """Where the scheduler asks for none, there need not be an account: that is told by its answer."""
        namespace, name = self._place
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name.removesuffix('-scheduler')}-answers/token"
        request = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}
        spec = {"audiences": [AUDIENCE], "expirationSeconds": _TOKEN_S}
        answer = await self._send("POST", path, msgspec.json.encode(request | {"spec": spec}))
        if answer.status == 201:
            token = msgspec.json.decode(answer.body, type=_TokenRequest).status.token
            self._headers, self._without_token = {TOKEN_HEADER: f"Bearer {token}"}, ""
        else:
            self._headers, self._without_token = {}, message_of(answer)

    @property
    def _place(self) -> tuple[str, str]:
        namespace, slash, name = self._service.partition("/")
        if not slash:
            raise CannotStart(f"--service {self._service} is not NAMESPACE/NAME")
        return namespace, name

    async def _patiently(self, path: str, body: bytes | None) -> Response:
        """The first answer of a replica that leads."""
        namespace, name = self._place
        answer = Response(0, b"")
        for number in range(_TRIES):
            where = f"/api/v1/namespaces/{namespace}/services/{self._schemes[0]}:{name}:{_PORT}/proxy{PATH}{path}"
            answer = await self._send("GET" if body is None else "POST", where, body or b"")
            if _asked_wrongly(answer) and number < _OTHERWISE:
                self._schemes.reverse()
                continue
            if answer.status != 503 or "does not lead" not in message_of(answer):
                break
            await asyncio.sleep(0.05 * number)
        return answer

    async def _send(self, method: str, path: str, body: bytes = b"") -> Response:
        try:
            return await self._transport.send(
                method, path, body, content_type=JSON, timeout_s=TIMEOUT_S, headers=self._headers
            )
        except Unavailable as error:
            raise CannotStart(f"the API server cannot be used: {error}") from error

    def _why_not(self, answer: Response) -> str:
        text = message_of(answer)
        if answer.status == 403:
            return f"you may not ask the scheduler: {text}"
        if answer.status == 401:
            return f"you may not ask the scheduler: {self._without_token or text}"
        if answer.status == 503 and "does not lead" not in text:
            return f"the scheduler does not answer: {text}; {_HINT}"
        return text


def _asked_wrongly(answer: Response) -> bool:
    """Whether what listens there may want TLS, or none: it hung up, or said so in words of its own."""
    if answer.status == 503:
        return "error trying to reach service" in message_of(answer)
    return answer.status in (400, 502) and _status(answer.body) is None


def message_of(answer: Response) -> str:
    """What the scheduler, or the API server, says is wrong."""
    status = _status(answer.body)
    if status is not None and status.message:
        return status.message
    return str(error_of("GET", "", answer.status, answer.body))


def _status(body: bytes) -> Status | None:
    try:
        return msgspec.json.decode(body, type=Status)
    except msgspec.DecodeError:
        return None
