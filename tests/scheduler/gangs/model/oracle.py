"""What the API objects say about gangs, read straight from JSON and from the contract, without any of koordpy.

Kept apart from koordpy on purpose: the keys are spelled once more and the rules are written down a second time, the
slow and plain way, so that a mistake would have to be made twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.builders import Json

OURS = "koord-scheduler"
KOORDINATOR = "gang.scheduling.koordinator.sh"
SIGS = "pod-group.scheduling.sigs.k8s.io"
X_LABEL = "scheduling.x-k8s.io/pod-group"
TIMED_OUT = f"{KOORDINATOR}/timeout"
APIS = ("scheduling.sigs.k8s.io", "scheduling.x-k8s.io")  # Koordinator's own wins
KAI_API, KAI = "scheduling.run.ai", "@kai"  # KAI's gangs are others than Koordinator's of the same name
KAI_GROUP, SUBGROUP = "pod-group-name", "kai.scheduler/subgroup-name"
GRACE, PROTECTED = "koordpy.io/staleness-grace-period", "scheduling.koordinator.sh/disable-preemptible"
POLICIES = ("only-waiting", "waiting-and-running", "once-satisfied")


class Config(NamedTuple):
    minimum: int | None
    mode: str
    policy: str
    group: tuple[str, ...]
    wait: str | None
    min_cpu: int
    parts: tuple[tuple[str, int], ...] = ()  # subgroups, each with its minimum


# --- one pod ---


def uid_of(pod: Json) -> str:
    return str(pod["metadata"]["uid"])


def gang_of(pod: Json) -> str:
    """namespace/name, or nothing."""
    meta = pod["metadata"]
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    name = (
        labels.get(SIGS) or labels.get(X_LABEL)
        or labels.get(f"{SIGS}/name") or annotations.get(f"{SIGS}/name") or annotations.get(SIGS)
        or annotations.get(f"{KOORDINATOR}/name")
    )  # fmt: skip
    if name:
        return f"{meta['namespace']}/{name}"
    return f"{meta['namespace']}/{annotations[KAI_GROUP]}{KAI}" if annotations.get(KAI_GROUP) else ""


def shown(gang: str) -> str:
    """As messages name it."""
    return gang.removesuffix(KAI)


def subgroup_of(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get(SUBGROUP, ""))


def asks_for_pod_group(pod: Json) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return bool(labels.get(SIGS) or labels.get(X_LABEL)) or gang_of(pod).endswith(KAI)


def node_of(pod: Json) -> str:
    return str(pod["spec"].get("nodeName", ""))


def is_ours(pod: Json) -> bool:
    return bool(pod["spec"]["schedulerName"] == OURS)


def is_finished(pod: Json) -> bool:
    return pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}


def is_terminating(pod: Json) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_alive(pod: Json) -> bool:
    return not is_finished(pod) and not is_terminating(pod)


def has_succeeded(pod: Json) -> bool:
    return pod.get("status", {}).get("phase") == "Succeeded" and not is_terminating(pod)


def finished_at(pod: Json) -> str:
    return str(pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"])


def is_gated(pod: Json) -> bool:
    return bool(pod["spec"].get("schedulingGates"))


def is_timed_out(pod: Json) -> bool:
    """The annotation means something on members of gangs alone."""
    return bool(gang_of(pod)) and (pod["metadata"].get("annotations") or {}).get(TIMED_OUT) == "true"


def is_pending(pod: Json) -> bool:
    """Ours to place."""
    return is_ours(pod) and not (
        node_of(pod) or is_finished(pod) or is_terminating(pod) or is_gated(pod) or is_timed_out(pod)
    )


def runs(pod: Json) -> bool:
    """Bound, counted for its gang."""
    return is_ours(pod) and bool(node_of(pod)) and not is_finished(pod) and not is_terminating(pod)


def is_protected(pod: Json) -> bool:
    return (pod["metadata"].get("labels") or {}).get(PROTECTED) == "true"


def cpu_of(pod: Json) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def condition_of(pod: Json) -> str:
    """The message of `PodScheduled=False`."""
    for condition in pod.get("status", {}).get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition["message"])
    return ""


# --- all of them ---


class Gangs:
    """The gangs of one state of the API objects, which does not change while this is in use."""

    def __init__(self, pods: Iterable[Json], pod_groups: Mapping[tuple[str, str], Json]) -> None:
        self.members: dict[str, list[Json]] = {}
        self._configs: dict[str, Config] = {}
        self._pod_groups = pod_groups
        for pod in pods:
            if gang := gang_of(pod):
                self.members.setdefault(gang, []).append(pod)
        for _, gang in pod_groups:
            self.members.setdefault(gang, [])

    def pod_group(self, gang: str) -> Json | None:
        apis = (*APIS, KAI_API)
        return next((self._pod_groups[api, gang] for api in apis if (api, gang) in self._pod_groups), None)

    def is_initialised(self, gang: str) -> bool:
        if gang not in self.members or self.config(gang).minimum is None:
            return False
        return not self._wants_pod_group(gang) or self.pod_group(gang) is not None

    def _wants_pod_group(self, gang: str) -> bool:
        return any(asks_for_pod_group(pod) for pod in self.members[gang] if is_alive(pod))

    def succeeded(self, gang: str) -> list[Json]:
        """Those that count: not on their way out, and not of an earlier PodGroup of the name."""
        done = [pod for pod in self.members.get(gang, ()) if is_ours(pod) and has_succeeded(pod)]
        pod_group = self.pod_group(gang)
        if pod_group is None:
            return [pod for pod in done if not asks_for_pod_group(pod)]
        made = pod_group["metadata"]["creationTimestamp"]
        return [pod for pod in done if pod["metadata"]["creationTimestamp"] >= made or finished_at(pod) > made]

    def config(self, gang: str) -> Config:
        if gang not in self._configs:
            self._configs[gang] = self._resolve(gang)
        return self._configs[gang]

    def grace_s(self, gang: str) -> float:
        """For how long it may lack members before the others are evicted; 0: for ever."""
        said = (meta.get("annotations") or {} for meta in self._voices(gang))
        return float(next((each[GRACE] for each in said if GRACE in each), "0s").removesuffix("s"))

    def _voices(self, gang: str) -> list[Json]:
        """Whose word counts for each field, in order: members, oldest first; the PodGroup."""
        living = [pod["metadata"] for pod in self.members.get(gang, ()) if is_alive(pod)]
        voices = sorted(living, key=lambda meta: (meta["creationTimestamp"], meta["name"]))
        pod_group = self.pod_group(gang)
        return voices if pod_group is None else [*voices, pod_group["metadata"]]

    def _resolve(self, gang: str) -> Config:
        """Field by field, the first that says something legal."""
        voices, pod_group = self._voices(gang), self.pod_group(gang)
        spec: Json = pod_group.get("spec", {}) if pod_group is not None else {}
        wait = spec.get("scheduleTimeoutSeconds")
        parts = tuple((each["name"], each["minMember"]) for each in spec.get("subGroups", ()))
        minimum = _first(voices, ("min-available",), _count, spec.get("minMember", 0) if pod_group else None)
        return Config(
            minimum=None if minimum is None else max(minimum, sum(least for _, least in parts)),
            mode=_first(voices, ("mode",), lambda text: _one_of(text, ("Strict", "NonStrict")), "Strict"),
            policy=_first(voices, ("match-policy",), lambda text: _one_of(text, POLICIES), _default_policy(gang)),
            group=tuple(f"{each}{_mark(gang)}" for each in _first(voices, ("groups", "gang-groups"), _ids, ())),
            wait=_first(voices, ("waiting-time",), str, f"{wait}s" if wait else None),
            min_cpu=int(spec.get("minResources", {}).get("cpu", 0)),
            parts=parts,
        )

    def short_of(self, gang: str, there: Iterable[Json]) -> list[str]:
        """What a gang lacks if these members are there: itself, or its subgroups."""
        config, members = self.config(gang), list(there)
        short = [] if len(members) >= (config.minimum or 0) else [gang]
        for name, least in config.parts:
            if sum(subgroup_of(pod) == name for pod in members) < least:
                short.append(f"{gang}, subgroup {name}")
        return short

    def group_of(self, gang: str) -> tuple[str, ...]:
        """The gang, those it lists, those that they list, and so on."""
        seen, ahead = {gang}, [gang]
        while ahead:
            for each in self.config(ahead.pop()).group:
                if each not in seen:
                    seen.add(each)
                    ahead.append(each)
        return tuple(sorted(seen))


def _mark(gang: str) -> str:
    return KAI if gang.endswith(KAI) else ""


def _default_policy(gang: str) -> str:
    """Missing members of KAI's gangs come together, also after the start."""
    return "waiting-and-running" if gang.endswith(KAI) else "once-satisfied"


def _first(voices: list[Json], names: tuple[str, ...], read: Any, default: Any) -> Any:
    for meta in voices:
        for name in names:
            text = (meta.get("annotations") or {}).get(f"{KOORDINATOR}/{name}")
            value = read(text) if text is not None else None
            if value is not None:
                return value
    return default


def _count(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _one_of(text: str, choices: tuple[str, ...]) -> str | None:
    return text if text in choices else None


def _ids(text: str) -> tuple[str, ...] | None:
    if not text:
        return ()
    try:
        return tuple(json.loads(text))
    except ValueError:
        return None
