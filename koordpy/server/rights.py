"""Which right a request needs, in the terms of SubjectAccessReview.

What is answered below `/apis/` counts as resources of the API group koordpy.io, as the API server would count it. Its
path alone would be no right: every cluster lets everybody who is authenticated `get` the nonResourceURLs `/apis/*`, to
discover what there is (ClusterRole `system:discovery`). Everything else is a nonResourceURL.
"""

from __future__ import annotations

from typing import NamedTuple

from aiohttp import web

from koordpy.api.answers import API_VERSION, PATH
from koordpy.server.gangs import PATH as GANGS

_GROUP, _, _VERSION = API_VERSION.partition("/")
_OF_ROUTES = {  # verb and resource
    f"{PATH}/jobs": ("list", "jobs"),
    f"{PATH}/jobs/{{namespace}}/{{name}}": ("get", "jobs"),
    f"{PATH}/whatif": ("create", "whatifs"),
    f"{PATH}/queues": ("list", "queues"),
    f"{GANGS}/gangs": ("list", "gangs"),
    f"{GANGS}/gang/{{namespace}}/{{name}}": ("get", "gangs"),
}


class Right(NamedTuple):
    """What has to be allowed: a resource, or a path where there is none."""

    verb: str
    path: str
    resource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def attributes(self) -> dict[str, object]:
        """The part of a SubjectAccessReview's spec."""
        if not self.resource:
            return {"nonResourceAttributes": {"path": self.path, "verb": self.verb}}
        about = {"group": _GROUP, "version": _VERSION, "resource": self.resource}
        return {"resourceAttributes": {"verb": self.verb, **about, "namespace": self.namespace, "name": self.name}}

    def __str__(self) -> str:
        """As the API server puts it."""
        if not self.resource:
            return f'{self.verb} path "{self.path}"'
        where = f' in the namespace "{self.namespace}"' if self.namespace else " at the cluster scope"
        return f'{self.verb} resource "{self.resource}" in API group "{_GROUP}"{where}'


def right_of(request: web.Request) -> Right:
    """By its route: how a path is written does not matter."""
    resource = request.match_info.route.resource
    found = _OF_ROUTES.get(resource.canonical) if resource is not None else None
    if found is None:
        return Right(request.method.lower(), request.path)
    verb, name = found
    return Right(verb, request.path, name, **request.match_info)
