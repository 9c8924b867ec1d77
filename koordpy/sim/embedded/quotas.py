"""ResourceQuotas, as far as pods go: how many there are, and what they request and limit.

What is used is counted from the pods at each creation, so freed quota is free at once; on a real cluster that takes
kube-controller-manager some seconds. Quotas with scopes are not enforced, and nobody writes a quota's status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.api.quantity import NANO, nano_units
from koordpy.sim.embedded.errors import forbidden

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend

Obj = dict[str, Any]

STORAGE = "resourcequotas"
_ENDED = ("Succeeded", "Failed")


def check(backend: Backend, pod: Obj) -> None:
    """Raise the refusal of the first quota that a new pod would exceed; in the words of the real server."""
    namespace = pod["metadata"].get("namespace", "")
    quotas = [stored.obj for stored in backend.store.items(STORAGE, namespace)]
    if not quotas:
        return
    used = [_usage(stored.obj) for stored in backend.store.items("pods", namespace)]
    for quota in quotas:
        spec = quota.get("spec") or {}
        if not spec.get("scopes") and not spec.get("scopeSelector"):
            _check_one(backend, quota, pod, used)


def _check_one(backend: Backend, quota: Obj, pod: Obj, used: list[dict[str, int]]) -> None:
    hard = quota["spec"].get("hard") or {}
    asked = _usage(pod)
    exceeded = []
    for name in sorted(hard.keys() & asked.keys()):
        before = sum(each.get(name, 0) for each in used)
        if asked[name] and before + asked[name] > nano_units(hard[name]):
            exceeded.append((name, asked[name], before, hard[name]))
    if exceeded:
        resource = backend.registry.by_path["", "v1", "pods"]
        parts = {
            "requested": ",".join(f"{name}={_shown(new)}" for name, new, _, _ in exceeded),
            "used": ",".join(f"{name}={_shown(before)}" for name, _, before, _ in exceeded),
            "limited": ",".join(f"{name}={most}" for name, _, _, most in exceeded),
        }
        told = ", ".join(f"{key}: {value}" for key, value in parts.items())
        raise forbidden(resource, pod["metadata"]["name"], f"exceeded quota: {quota['metadata']['name']}, {told}")


def _usage(pod: Obj) -> dict[str, int]:
    """In nano-units, by the names of a quota. A pod that has ended is an object still, and uses nothing else."""
    usage = {"count/pods": NANO}
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return usage
    usage["pods"] = NANO
    for container in pod["spec"].get("containers") or ():
        resources = container.get("resources") or {}
        limits = resources.get("limits") or {}
        for name, amount in (limits | (resources.get("requests") or {})).items():
            for key in (name, f"requests.{name}"):
                usage[key] = usage.get(key, 0) + nano_units(amount)
        for name, amount in limits.items():
            usage[f"limits.{name}"] = usage.get(f"limits.{name}", 0) + nano_units(amount)
    return usage


def _shown(nanos: int) -> str:
    whole, rest = divmod(nanos, NANO)
    return f"{nanos // 10**6}m" if rest else str(whole)
