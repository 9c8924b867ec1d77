"""Errors of the API server as types, so that callers decide by type and not by status code."""

from __future__ import annotations

from koordpy.api.decode import decode_status


class ApiError(Exception):
    """A request failed, or had no answer; `str()` is one line a person can act on."""

    def __init__(self, message: str, *, status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after  # seconds, from the Retry-After header


class Unauthorized(ApiError):
    """401: the credentials are not accepted, or have expired."""


class Forbidden(ApiError):
    """403: the account lacks the permission, or admission denied the request."""


class NotFound(ApiError):
    """404: no such object, or no such resource."""


class Conflict(ApiError):
    """409: another client changed the object, or a precondition failed."""


class AlreadyExists(Conflict):
    """409 on create: an object of this name exists."""


class Gone(ApiError):
    """410: the resource version or the continue token is too old; list again."""


class Invalid(ApiError):
    """400 or 422: the request itself is invalid; a retry cannot help."""


class Transient(ApiError):
    """May be retried. The request may or may not have taken effect: GET the object before assuming either."""


class TooManyRequests(Transient):
    """429: wait as long as the server says."""


class Unavailable(Transient):
    """5xx, a timeout, or a broken connection."""


# kube-apiserver sends one second; a header of a year would stop a watch for good.
_MOST_RETRY_AFTER_S = 300.0

_BY_STATUS: dict[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def error_of(method: str, path: str, status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """The error for an answer with a status of 300 or more."""
    answer = decode_status(body)
    kind = _BY_STATUS.get(status, Unavailable if status >= 500 else Invalid)
    if kind is Conflict and answer.reason == "AlreadyExists":
        kind = AlreadyExists
    text = answer.message or answer.reason or "no explanation"
    return kind(f"{method} {path}: {status} {text}", status=status, retry_after=_seconds(retry_after))


def _seconds(retry_after: str | None) -> float | None:
    """The seconds of a Retry-After header; a date is ignored."""
    if retry_after is None or not (retry_after.isascii() and retry_after.isdigit()):
        return None
    return min(float(retry_after), _MOST_RETRY_AFTER_S)
