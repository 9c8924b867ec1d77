"""What goes into the API and what comes out of it, without a transport.

`http.py` maps these to aiohttp; tests in virtual time call the API with them directly.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote

import msgspec

from koordpy.sim.embedded import protobuf
from koordpy.sim.embedded.errors import ApiError, bad_request, not_acceptable

Obj = dict[str, Any]
JSON_TYPE = {"Content-Type": "application/json"}
_SERVED = ("json", "*/*", "application/*", "yaml", "text/")
_CONVERSIONS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


class ConnectionCut(Exception):
    """The answer ends here: the transport must close the connection without a proper end."""


class Stream(Protocol):
    """The body of a watch: chunks as they come, until it ends or is closed."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...
    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Request:
    """`headers` must be found by lower-case names."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @classmethod
    def of_target(cls, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Request:
        """From the target of a request line: `/api/v1/pods?limit=5`."""
        path, _, query = target.partition("?")
        pairs = dict(parse_qsl(query, keep_blank_values=True)) if query else {}
        return cls(method, unquote(path) if "%" in path else path, pairs, headers, body)

    def flag(self, name: str) -> bool:
        return self.query.get(name) in ("true", "1", "True")

    @property
    def dry_run(self) -> bool:
        asked = self.query.get("dryRun", "")
        if asked not in ("", "All"):
            raise bad_request(f"invalid dryRun {asked!r}: the only supported value is All")
        return asked == "All"

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip()

    @property
    def wants(self) -> str:
        """The kind of `meta.k8s.io` that the client wants in place of the object, such as Table; empty for none.

        Of the media types that it accepts the first counts that can be served; a client that takes only protobuf is
        refused, and most name JSON as their second choice.
        """
        accept = self.headers.get("accept", "")
        if "as=" not in accept and (not accept or any(kind in accept for kind in _SERVED)):
            return ""  # nearly all of them
        for choice in accept.split(","):
            kind, *parameters = (part.strip() for part in choice.split(";"))
            asked = dict(part.partition("=")[::2] for part in parameters)
            if not any(served in kind for served in _SERVED):
                continue
            if "as" not in asked:
                return ""
            if asked["as"] in _CONVERSIONS and asked.get("g") == "meta.k8s.io" and asked.get("v") == "v1":
                return asked["as"]
        raise not_acceptable("application/json")

    def check_acceptable(self) -> None:
        """Refuse a client that takes nothing that can be served, before anything is done for it."""
        _ = self.wants

    def object(self) -> Obj:
        """The object in the body, in JSON or in protobuf."""
        return protobuf.decode(self.body) if self.content_type == protobuf.MEDIA_TYPE else self.json()

    def any_json(self) -> Any:
        try:
            return msgspec.json.decode(self.body)
        except msgspec.DecodeError as error:
            raise bad_request(f"the body of the request is not JSON: {error}") from None

    def json(self) -> Obj:
        decoded = self.any_json()
        if not isinstance(decoded, dict):
            raise bad_request("the body of the request must be a JSON object")
        return decoded


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: bytes | Stream
    headers: Mapping[str, str] = field(default_factory=lambda: JSON_TYPE)

    @classmethod
    def of(cls, obj: Any, status: int = 200) -> Response:
        return cls(status, msgspec.json.encode(obj))

    @classmethod
    def of_error(cls, error: ApiError) -> Response:
        return cls(error.code, msgspec.json.encode(error.status()), {**JSON_TYPE, **error.headers})
