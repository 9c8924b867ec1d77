"""The small questions of the naive reference, on API JSON: does a selector match, how much does a pod ask for?

Written from kube-scheduler's rules and without a look at koordpy's code: no imports from koordpy, no arrays, no caches.
"""

from fractions import Fraction
from math import ceil
from typing import Any

Json = dict[str, Any]
Labels = dict[str, str]

_SUFFIXES = {"m": Fraction(1, 1000), "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_ASSUMED = {"cpu": 100, "memory": 200 * 2**20}  # what scoring counts for a container that names no request


# --- selectors ---


def selects(selector: Json | None, labels: Labels) -> bool:
    """A label selector; no selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels", {})
    expressions = selector.get("matchExpressions", [])
    return all(labels.get(k) == v for k, v in wanted.items()) and all(satisfies(e, labels) for e in expressions)


def satisfies(requirement: Json, labels: Labels) -> bool:
    """One requirement of a label selector or of a node affinity term."""
    key, operator, values = requirement["key"], requirement["operator"], requirement.get("values", [])
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    if key not in labels or not labels[key].isdecimal() or not values[0].isdecimal():
        return False  # Gt and Lt compare integers; what is none satisfies neither
    return int(labels[key]) > int(values[0]) if operator == "Gt" else int(labels[key]) < int(values[0])


def node_term_matches(term: Json, node: Json) -> bool:
    expressions, fields = term.get("matchExpressions", []), term.get("matchFields", [])
    if not expressions and not fields:
        return False
    name_as_label = {"metadata.name": node["metadata"]["name"]}
    return all(satisfies(e, labels_of(node)) for e in expressions) and all(satisfies(f, name_as_label) for f in fields)


def tolerates(pod: Json, taint: Json) -> bool:
    for toleration in pod["spec"].get("tolerations", []):
        same_effect = toleration.get("effect", "") in ("", taint["effect"])
        same_key = toleration.get("key", "") in ("", taint["key"])
        exists = toleration.get("operator", "Equal") == "Exists"
        if same_effect and same_key and (exists or toleration.get("value", "") == taint.get("value", "")):
            return True
    return False


# --- parts of objects ---


def labels_of(obj: Json) -> Labels:
    return obj["metadata"].get("labels", {})


def affinity_of(pod: Json, kind: str) -> Json:
    return pod["spec"].get("affinity", {}).get(kind, {})


def host_ports(pod: Json) -> list[Json]:
    sidecars = [c for c in pod["spec"].get("initContainers", []) if is_sidecar(c)]
    ports = [port for c in pod["spec"]["containers"] + sidecars for port in c.get("ports", [])]
    return [port for port in ports if port.get("hostPort", 0) > 0]


def is_sidecar(init_container: Json) -> bool:
    return init_container.get("restartPolicy") == "Always"


# --- amounts ---


def amount(resource: str, quantity: str) -> int:
    """Thousandths of CPU, whole units of everything else, rounded up."""
    suffix = next((s for s in ("Ki", "Mi", "Gi", "m", "k", "M", "G") if quantity.endswith(s)), "")
    value = Fraction(quantity.removesuffix(suffix)) * _SUFFIXES.get(suffix, 1)
    return ceil(value * 1000) if resource == "cpu" else ceil(value)


def allocatable(node: Json, resource: str) -> int:
    return amount(resource, node["status"].get("allocatable", {}).get(resource, "0"))


def request(pod: Json, resource: str) -> int:
    """What must be free for a pod."""
    total = _of_containers(pod, resource, 0)
    if resource in _pod_level(pod):
        total = amount(resource, _pod_level(pod)[resource])
    return total + amount(resource, pod["spec"].get("overhead", {}).get(resource, "0"))


def scored_request(pod: Json, resource: str, *, is_new: bool) -> int:
    """What scores count for a pod: something is assumed for containers without a request.

    Of the pod being placed only the containers are looked at. A pod on a node that has requests of its own counts
    those, and nothing is assumed for a resource that it mentions anywhere.
    """
    overhead = amount(resource, pod["spec"].get("overhead", {}).get(resource, "0"))
    if is_new or not _pod_level(pod):
        return _of_containers(pod, resource, _ASSUMED[resource]) + overhead
    if resource in _pod_level(pod):
        return amount(resource, _pod_level(pod)[resource]) + overhead
    return _of_containers(pod, resource, 0 if resource in resources_of(pod) else _ASSUMED[resource]) + overhead


def _pod_level(pod: Json) -> dict[str, str]:
    requests = pod["spec"].get("resources", {}).get("requests", {})
    return {name: q for name, q in requests.items() if name in _ASSUMED or name.startswith("hugepages-")}


def _of_containers(pod: Json, resource: str, missing: int) -> int:
    """Containers and sidecars run together; an init container beside the sidecars declared before it."""

    def asked(container: Json) -> int:
        requests = container.get("resources", {}).get("requests", {})
        return amount(resource, requests[resource]) if resource in requests else missing

    init = pod["spec"].get("initContainers", [])
    running = sum(asked(c) for c in pod["spec"]["containers"]) + sum(asked(c) for c in init if is_sidecar(c))
    starting = [asked(c) + sum(asked(s) for s in init[:i] if is_sidecar(s)) for i, c in enumerate(init)]
    return max([running, *starting])


def resources_of(pod: Json) -> set[str]:
    """Every resource that the pod names anywhere."""
    spec = pod["spec"]
    lists = [c.get("resources", {}).get("requests", {}) for c in spec["containers"] + spec.get("initContainers", [])]
    lists += [spec.get("resources", {}).get("requests", {}), spec.get("overhead", {})]
    return {resource for each in lists for resource in each}
