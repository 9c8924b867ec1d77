"""The errors of the API, in the words of the real server.

Clients read `reason`, `code` and `details.causes`, and people read `message`; all four are part of the
interface. Nothing here decides whether a request is wrong, it only says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from koordpy.sim.embedded.resources import Resource

Obj = dict[str, Any]


class FieldError(NamedTuple):
    """One cause of a 422: `spec.containers: Required value`."""

    reason: str
    field: str
    message: str


class ApiError(Exception):
    """A request that is answered with a `Status` of failure."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Obj | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = headers or {}

    def status(self) -> Obj:
        body: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        body |= {"message": self.message, "reason": self.reason}
        if self.details is not None:
            body["details"] = self.details
        return {key: value for key, value in body.items() if value != ""} | {"code": self.code}


def required(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, f"Required value{': ' + detail if detail else ''}")


def invalid_value(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, f"Invalid value: {_shown(value)}: {detail}")


def forbidden_field(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, f"Forbidden: {detail}")


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, f"Duplicate value: {_shown(value)}")


def unsupported(field: str, value: Any, choices: list[Any]) -> FieldError:
    supported = ", ".join(_shown(choice) for choice in choices)
    return FieldError(
        "FieldValueNotSupported", field, f"Unsupported value: {_shown(value)}: supported values: {supported}"
    )


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def invalid(kind: str, group: str, name: str, errors: list[FieldError]) -> ApiError:
    lines = [f"{error.field}: {error.message}" for error in errors]
    told = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    causes = [{"reason": e.reason, "message": e.message, "field": e.field} for e in errors]
    full_kind = f"{kind}.{group}" if group else kind
    return ApiError(
        422,
        "Invalid",
        f'{full_kind} "{name}" is invalid: {told}',
        _without_empty({"name": name, "group": group, "kind": kind, "causes": causes}),
    )


def not_found(resource: Resource, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{resource.full_name} "{name}" not found', _details(resource, name))


def already_exists(resource: Resource, name: str) -> ApiError:
    message = f'{resource.full_name} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _details(resource, name))


def conflict(resource: Resource, name: str, why: str, named: str = "") -> ApiError:
    """`named` is what is said instead of the resource: a kind, or a subresource such as `pods/binding`."""
    target = named or resource.full_name
    details = _details(resource, name) | {"kind": named or resource.plural}
    return ApiError(409, "Conflict", f'Operation cannot be fulfilled on {target} "{name}": {why}', details)


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def precondition_failed(resource: Resource, namespace: str, name: str, told: str) -> ApiError:
    key = "/".join(part for part in ("/registry", resource.plural, namespace, name) if part)
    return conflict(
        resource,
        name,
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: {told}",
    )


def forbidden(resource: Resource, name: str, why: str) -> ApiError:
    named = f' "{name}"' if name else ""
    message = f"{resource.full_name}{named} is forbidden: {why}"
    return ApiError(403, "Forbidden", message, _details(resource, name))


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def no_such_path(why: str = "") -> ApiError:
    told = "the server could not find the requested resource"
    return ApiError(404, "NotFound", f"{told}: {why}" if why else told, {})


def method_not_allowed() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, {})


def unsupported_media_type(accepted: list[str]) -> ApiError:
    return ApiError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted),
    )


def too_long_a_request(limit: int) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def wrong_form(message: str) -> ApiError:
    return ApiError(406, "NotAcceptable", message, details=None)


def not_acceptable(accepted: str) -> ApiError:
    return ApiError(406, "NotAcceptable", f"only the following media types are accepted: {accepted}", details=None)


def too_many_requests(message: str, causes: list[Obj], retry_after: int = 0) -> ApiError:
    details: Obj = {"causes": causes}
    headers = {}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
        headers["Retry-After"] = str(retry_after)
    return ApiError(429, "TooManyRequests", message, details, headers)


def _details(resource: Resource, name: str) -> Obj:
    return _without_empty({"name": name, "group": resource.group, "kind": resource.plural})


def _without_empty(details: Obj) -> Obj:
    return {key: value for key, value in details.items() if value not in ("", [])}
