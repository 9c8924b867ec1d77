"""Who may ask: delegated to the API server, as the ports of Kubernetes' own components do it.

A request carries a bearer token. TokenReview says whose it is, SubjectAccessReview whether that user has the right that
the request needs (`rights.py`). Both answers are kept for a few seconds. Health is open: kubelets have no token. What
comes through the API server's service proxy has its token in a header of our own, and made for us alone: nobody's token
for the API server is to travel there.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any, NamedTuple

import msgspec
import structlog
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from koordpy.api.answers import AUDIENCE, TOKEN_HEADER, Status
from koordpy.server.rights import Right, right_of

OPEN = frozenset(("/healthz", "/livez", "/readyz"))
_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_KEPT_S = 10.0  # as kube-scheduler keeps them
_MOST_KEPT = 1000

Json = dict[str, Any]
Review = Callable[[str, Json], Awaitable[bytes]]  # a path and a review to be made there

log = structlog.get_logger()


class User(msgspec.Struct, frozen=True):
    """Whose token it is, as TokenReview says."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: User = User()
    audiences: tuple[str, ...] = ()


class _TokenReview(msgspec.Struct):
    status: _TokenStatus = msgspec.field(default_factory=_TokenStatus)


class _AccessStatus(msgspec.Struct):
    allowed: bool = False
    reason: str = ""


class _AccessReview(msgspec.Struct):
    status: _AccessStatus = msgspec.field(default_factory=_AccessStatus)


class _Kept(NamedTuple):
    until: float
    answer: Any


class Delegated:
    """Asks the API server, and remembers its answers for a while."""

    def __init__(self, review: Review, clock: Callable[[], float] = time.monotonic) -> None:
        self._review, self._clock = review, clock
        self._kept: dict[tuple[str, ...], _Kept] = {}

    async def refusal(self, token: str, right: Right, audience: str = "") -> Status | None:
        """Why a request is not answered; None: it is. Without an audience the token must be one for the API server."""
        if not token:
            return Status(code=401, reason="Unauthorized", message="a bearer token is needed")
        user: User | None = await self._remembered(
            ("token", audience, _digest(token)), lambda: self._user(token, audience)
        )
        if user is None:
            return Status(code=401, reason="Unauthorized", message="the bearer token is not valid")
        key = ("access", user.username, user.uid, ",".join(user.groups), *right)
        if await self._remembered(key, lambda: self._may(user, right)):
            return None
        text = f'User "{user.username}" cannot {right}'
        return Status(code=403, reason="Forbidden", message=text)

    async def _user(self, token: str, audience: str) -> User | None:
        spec = {"token": token, "audiences": [audience]} if audience else {"token": token}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        found = msgspec.json.decode(await self._review(_TOKENS, body), type=_TokenReview).status
        # An authenticator that knows no audiences authenticates, and names none.
        meant_for_us = not audience or audience in found.audiences
        return found.user if found.authenticated and meant_for_us else None

    async def _may(self, user: User, right: Right) -> bool:
        spec = {
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
            **right.attributes,
        }
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        return msgspec.json.decode(await self._review(_ACCESS, body), type=_AccessReview).status.allowed

    async def _remembered(self, key: tuple[str, ...], ask: Callable[[], Awaitable[Any]]) -> Any:
        now = self._clock()
        known = self._kept.get(key)
        if known is not None and now < known.until:
            return known.answer
        answer = await ask()
        if len(self._kept) >= _MOST_KEPT:
            self._kept = {each: kept for each, kept in self._kept.items() if now < kept.until}
        if len(self._kept) < _MOST_KEPT:
            self._kept[key] = _Kept(now + _KEPT_S, answer)
        return answer


def middleware(delegated: Delegated, always_allow: Collection[str] = ()) -> Middleware:
    """Before every handler but those of health, and of the paths that are always allowed."""
    unasked = OPEN.union(always_allow)

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in unasked:
            return await handler(request)
        token, audience = _presented(request)
        try:
            refusal = await delegated.refusal(token, right_of(request), audience)
        except Exception as error:  # noqa: BLE001 - whatever is wrong, nobody is let in
            log.warning("authorization_failed", problem=str(error))
            text = f"the API server could not be asked: {error}"
            refusal = Status(code=503, reason="ServiceUnavailable", message=text)
        if refusal is None:
            return await handler(request)
        return web.Response(body=msgspec.json.encode(refusal), status=refusal.code, content_type="application/json")

    return check


def _presented(request: web.Request) -> tuple[str, str]:
    """The bearer token, and the audience that it must have been made for."""
    for header, audience in ((TOKEN_HEADER, AUDIENCE), ("Authorization", "")):
        kind, _, token = request.headers.get(header, "").partition(" ")
        if kind.lower() == "bearer" and token.strip():
            return token.strip(), audience
    return "", ""


def _digest(token: str) -> str:
    """Tokens themselves are not kept."""
    return hashlib.sha256(token.encode()).hexdigest()
