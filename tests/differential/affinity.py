"""Random rules between pods: affinity, anti-affinity and topology spread."""

from random import Random
from typing import Any

from tests.differential.features import Features
from tests.differential.nodes import HOSTNAME, ZONE
from tests.differential.selectors import NAMESPACE_LABELS, OPERATORS, POD_LABELS, POSITIVE, label_selector
from tests.differential.world import NAMESPACES

Json = dict[str, Any]
Labels = dict[str, str]

TOPOLOGY_KEYS = [HOSTNAME, ZONE, ZONE, "rack", "no-such-label"]
KEY_WEIGHTS = [4, 3, 3, 3, 1]


def pod_affinity(rng: Random, labels: Labels, features: Features, chance: float) -> Json:
    """The `podAffinity` and `podAntiAffinity` of a pod with these labels, each part with the given chance."""
    required, preferred = (
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
    )
    rules: Json = {"podAffinity": {}, "podAntiAffinity": {}}
    if "pod-affinity" in features and rng.random() < chance:
        rules["podAffinity"][required] = _terms(rng, labels, features)
    if "pod-anti-affinity" in features and rng.random() < chance:
        rules["podAntiAffinity"][required] = _terms(rng, labels, features)
    for kind in rules:
        if "preferred-pod-affinity" in features and rng.random() < chance:
            rules[kind][preferred] = [
                {"weight": rng.choice([1, 5, 50, 100]), "podAffinityTerm": term}
                for term in _terms(rng, labels, features)
            ]
    return {kind: rule for kind, rule in rules.items() if rule}


def _terms(rng: Random, labels: Labels, features: Features) -> list[Json]:
    return [_term(rng, labels, features) for _ in range(rng.choice([1, 1, 1, 2]))]


def _term(rng: Random, labels: Labels, features: Features) -> Json:
    term: Json = {"topologyKey": rng.choices(TOPOLOGY_KEYS, KEY_WEIGHTS)[0]}
    if rng.random() < 0.95:  # without a selector a term matches nothing
        term["labelSelector"] = _selector(rng, labels)
        term |= _label_keys(rng, term["labelSelector"], ["matchLabelKeys", "mismatchLabelKeys"])
    if "namespace-selector" in features:
        if rng.random() < 0.5:
            operators = OPERATORS if "negative-namespaces" in features else POSITIVE
            term["namespaceSelector"] = label_selector(rng, NAMESPACE_LABELS, operators)
        if rng.random() < 0.3:
            term["namespaces"] = rng.sample(sorted(NAMESPACES), k=rng.randint(1, 2))
    return term


def spread(rng: Random, labels: Labels, features: Features) -> list[Json]:
    """Constraints; the API server takes one for a key and an effect."""
    chosen: dict[tuple[str, str], Json] = {}
    for feature, effect in (("hard-spread", "DoNotSchedule"), ("soft-spread", "ScheduleAnyway")):
        for _ in range(rng.choice([1, 1, 2]) if feature in features else 0):
            key = rng.choices(TOPOLOGY_KEYS, [3, 4, 4, 3, 0.3])[0]
            chosen[key, effect] = _constraint(rng, labels, key, effect)
    return list(chosen.values())


def _constraint(rng: Random, labels: Labels, key: str, effect: str) -> Json:
    constraint: Json = {"maxSkew": rng.choice([1, 1, 2, 3]), "topologyKey": key, "whenUnsatisfiable": effect}
    if rng.random() < 0.95:
        constraint["labelSelector"] = _selector(rng, labels)
        constraint |= _label_keys(rng, constraint["labelSelector"], ["matchLabelKeys"])
    if effect == "DoNotSchedule" and rng.random() < 0.5:
        constraint["minDomains"] = rng.choice([1, 3, 4, 5])
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if rng.random() < 0.4:
            constraint[policy] = rng.choice(["Honor", "Ignore"])
    return constraint


def _selector(rng: Random, labels: Labels) -> Json:
    """Often one that selects the pod itself: the replicas of something keep away from each other."""
    if labels and rng.random() < 0.4:
        key = rng.choice(sorted(labels))
        return {"matchLabels": {key: labels[key]}}
    return label_selector(rng, POD_LABELS)


def _label_keys(rng: Random, selector: Json, fields: list[str]) -> Json:
    """Label keys whose values the API server takes from the pod; a key that the selector has is refused."""
    used = {*selector.get("matchLabels", ()), *(each["key"] for each in selector.get("matchExpressions", ()))}
    free = sorted(set(POD_LABELS) - used)
    if not free or rng.random() > 0.15:
        return {}
    return {rng.choice(fields): [rng.choice(free)]}
