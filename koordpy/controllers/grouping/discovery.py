"""Where the objects of a kind are served, asked from the API server: any kind may own pods.

Each API group and version is asked for once, and again when a kind turns up that was not in it: definitions are
installed while koordpy runs. There is no list of kinds to configure. Anybody can invent API versions and names, so what
could be no API version is not asked for, a name is one step of a path, and only so many versions are remembered.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from koordpy.api.decode import Decoder
from koordpy.api.grouping import group_of
from koordpy.api.meta import Struct
from koordpy.kube.client import Client
from koordpy.kube.errors import NotFound

_MOST_VERSIONS = 256  # far more than any API server serves
_API_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z]([-a-z0-9]*[a-z0-9])?")
_ASK_AGAIN_S = 5.0  # a kind that is not served may be in a moment, and thousands of pods may ask for it


class _Resource(Struct, frozen=True):
    name: str
    kind: str
    namespaced: bool = True


class _ResourceList(Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


class _Version(Struct, frozen=True):
    group_version: str = ""


class _Group(Struct, frozen=True):
    preferred_version: _Version = _Version()


_decode_list = Decoder("APIResourceList", _ResourceList)
_decode_group = Decoder("APIGroup", _Group)


class Served(NamedTuple):
    """Where a kind is served."""

    api_version: str
    plural: str
    namespaced: bool

    @property
    def collection(self) -> str:
        """The path of all objects, in all namespaces."""
        root = "/apis" if "/" in self.api_version else "/api"
        return f"{root}/{self.api_version}/{self.plural}"

    def path(self, namespace: str, name: str) -> str:
        if not self.namespaced:
            return f"{self.collection}/{quote(name, safe='')}"
        root = "/apis" if "/" in self.api_version else "/api"
        return f"{root}/{self.api_version}/namespaces/{quote(namespace)}/{self.plural}/{quote(name, safe='')}"


class NotServed(Exception):
    """No such kind is installed."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(f"kind {kind} of {api_version} is not served by the API server")


@dataclass(slots=True)
class _Asked:
    """What the API server has said of one API version."""

    at: float
    kinds: dict[str, Served]
    doubted: bool = False  # it may be served otherwise by now


class Discovery:
    """Kinds by API version, as far as somebody asked for them."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._asked: OrderedDict[str, _Asked] = OrderedDict()  # by API version; what was used last is last

    async def find(self, api_version: str, kind: str) -> Served:
        """Where a kind is served; raises NotServed, or ApiError when it could not be found out."""
        if not _API_VERSION.fullmatch(api_version):
            raise NotServed(api_version, kind)
        asked = self._asked.get(api_version)
        if asked is None or self._is_to_be_asked_again(asked, kind):
            asked = self._asked[api_version] = _Asked(self._clock(), await self._ask(api_version))
        self._asked.move_to_end(api_version)
        while len(self._asked) > _MOST_VERSIONS:
            self._asked.popitem(last=False)
        if kind not in asked.kinds:
            raise NotServed(api_version, kind)
        return asked.kinds[kind]

    def _is_to_be_asked_again(self, asked: _Asked, kind: str) -> bool:
        return (asked.doubted or kind not in asked.kinds) and self._clock() >= asked.at + _ASK_AGAIN_S

    def doubt(self, api_version: str) -> None:
        """An object was not found where it should be: mostly it is gone, and seldom its whole kind is.

        Until the API server may be asked again, what is known of the kind counts: others of it are there.
        """
        if asked := self._asked.get(api_version):
            asked.doubted = True

    async def _ask(self, api_version: str) -> dict[str, Served]:
        """The kinds of a version, or of the preferred one, if it is served no more: references keep old versions."""
        try:
            return await self._kinds_of(api_version)
        except NotFound:
            group = group_of(api_version)
        if not group:
            return {}
        try:
            answer = _decode_group(await self._client.get(f"/apis/{quote(group)}"))
            return await self._kinds_of(answer.preferred_version.group_version or api_version)
        except NotFound:
            return {}

    async def _kinds_of(self, api_version: str) -> dict[str, Served]:
        root = "/apis" if "/" in api_version else "/api"
        answer = _decode_list(await self._client.get(f"{root}/{quote(api_version)}"))
        return {
            each.kind: Served(api_version, each.name, each.namespaced)
            for each in answer.resources
            if "/" not in each.name  # a subresource
        }
