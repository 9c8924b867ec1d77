"""Access and token reviews: everybody may do everything here, and says so in the real form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from koordpy.sim.embedded.resources import Resource

Obj = dict[str, Any]
_USER = {"username": "embedded-admin", "groups": ["system:masters", "system:authenticated"]}


def allow(resource: Resource, review: Obj) -> Obj:
    status: Obj = {"allowed": True, "reason": "the embedded API allows everything"}
    if resource.kind == "SelfSubjectRulesReview":
        rule = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        status = {"resourceRules": [rule], "nonResourceRules": [], "incomplete": False}
    elif resource.kind == "TokenReview":
        status = {"authenticated": True, "user": _USER}
    elif resource.kind == "SelfSubjectReview":
        status = {"userInfo": _USER}
    return {**review, "kind": resource.kind, "apiVersion": resource.api_version, "status": status}
