"""What users, kubelets and other schedulers do to pods and PodGroups, at random.

There are few names, so that gangs and pods come back under names that were there before.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.builders import Json, pod_json
from tests.scheduler.gangs.model.habits import GANGS, NAMESPACES, Habit, saying, subgroups
from tests.scheduler.gangs.model.oracle import (
    APIS,
    KAI_API,
    KAI_GROUP,
    KOORDINATOR,
    PROTECTED,
    SUBGROUP,
    TIMED_OUT,
    gang_of,
    is_finished,
    is_gated,
    node_of,
    shown,
)
from tests.scheduler.gangs.model.temper import Temper
from tests.scheduler.gangs.model.truth import NODES, PODS, Truth, key_of

_OTHER = "other"  # a scheduler that does not ask whether its pods fit


class Users:
    """Each method does one thing, or nothing where there is nothing to do it to."""

    def __init__(self, truth: Truth, rng: random.Random, temper: Temper) -> None:
        self._truth, self._rng, self._temper = truth, rng, temper
        self._habits: dict[str, Habit] = {}
        self._number = 0
        self._inclinations = self._incline()

    def disturb(self) -> None:
        """One thing happens."""
        self._rng.choices([*self._inclinations], [*self._inclinations.values()])[0]()

    def _incline(self) -> dict[Callable[[], None], int]:
        """How often each thing happens in this world; some never do, so that others last."""
        finish = 1 if self._temper.graces else 4  # of which members have succeeded, nobody is stranded
        happens = {self._new_member: 14, self._delete_pod: 4, self._new_single: 3, self._finish: finish}
        if self._temper.fickle:
            at_times = (self._new_pod_group, self._change_pod_group, self._ungate, self._forgive)
            seldom = (
                self._delete_pod_group, self._terminate, self._change_member, self._make_again, self._new_habit,
                self._bind_foreign, self._resubmit,
            )  # fmt: skip
            rest = dict.fromkeys(at_times, 2) | dict.fromkeys(seldom, 1)
            happens |= {thing: weight * self._rng.choice([0, 1, 2]) for thing, weight in rest.items()}
        return happens

    @property
    def _pods(self) -> dict[str, Json]:
        return self._truth.objects[PODS]

    @property
    def _apis(self) -> list[str]:
        """Those of PodGroups."""
        return [each for each in self._truth.kinds if each not in (PODS, NODES)]

    # --- gangs ---

    def _some_gang(self) -> tuple[str, Habit]:
        gang = self._rng.choice(GANGS)
        if gang not in self._habits:
            self._habits[gang] = Habit.choose(self._rng, self._temper)
        return gang, self._habits[gang]

    def _new_habit(self) -> None:
        """The next ones of this gang are written differently."""
        self._habits.pop(self._rng.choice(GANGS), None)

    def _new_member(self) -> None:
        """One, or as many as are missing."""
        gang, habit = self._some_gang()
        names = [f"{gang}-{number}" for number in range(1, habit.most + 1)]
        free = [name for name in names if f"{NAMESPACES[gang]}/{name}" not in self._pods]
        if self._rng.random() < self._temper.whole:
            self._make_pod_group(gang, habit)
        elif free:
            free = [self._rng.choice(free)]
        for name in free:
            self._make_member(name, gang, habit)

    def _resubmit(self) -> None:
        """All is deleted and made again at once, and the pods of the run before are still terminating."""
        gang, habit = self._some_gang()
        for pod in [each for each in self._pods.values() if shown(gang_of(each)) == f"{NAMESPACES[gang]}/{gang}"]:
            self._end(pod)
        for api in self._apis:
            if (key := f"{NAMESPACES[gang]}/{gang}") in self._truth.objects[api]:
                self._truth.delete(api, key)
        self._make_pod_group(gang, habit)
        self._number += 1
        for number in range(1, habit.most + 1):
            self._make_member(f"{gang}-r{self._number}-{number}", gang, habit)

    def _make_member(self, name: str, gang: str, habit: Habit) -> None:
        rng = self._rng
        given: dict[str, Any] = {"cpu": rng.choice(habit.cpus), "priority": rng.choice(habit.priorities)}
        if rng.random() < 0.1:
            given["node_selector"] = {"pool": rng.choice("xy")}
        if self._temper.fickle and rng.random() < 0.04:
            given["scheduler"] = _OTHER
        pod = pod_json(name, namespace=NAMESPACES[gang], **given)
        pod["metadata"] |= habit.of_member(gang, name, rng)
        if self._temper.graces and rng.random() < 0.08:
            pod["metadata"]["labels"][PROTECTED] = "true"
        if self._temper.fickle and rng.random() < 0.08:
            pod["spec"]["schedulingGates"] = [{"name": "g"}]
        self._truth.create(PODS, pod)

    def _change_member(self) -> None:
        """Its annotations can be edited at any time: another minimum, another mode, another gang."""
        pod = self._some_pod()
        if pod is None or not gang_of(pod):
            return
        annotations = pod["metadata"]["annotations"]
        match self._rng.choice(["minimum", "says", "silence", "gang"]):
            case "minimum":
                annotations[f"{KOORDINATOR}/min-available"] = self._rng.choice(["1", "2", "3", "two"])
            case "says":
                annotations |= saying(self._rng, self._temper)
            case "silence":
                for key in list(annotations):
                    if key not in {f"{KOORDINATOR}/name", KAI_GROUP, TIMED_OUT}:
                        del annotations[key]
            case "gang":
                if f"{KOORDINATOR}/name" in annotations:
                    annotations[f"{KOORDINATOR}/name"] = self._rng.choice(GANGS)
                elif KAI_GROUP in annotations:
                    annotations[KAI_GROUP] = self._rng.choice(GANGS)
                    pod["metadata"]["labels"][SUBGROUP] = self._rng.choice("ab")
        self._truth.changed(PODS, pod)

    # --- PodGroups ---

    def _new_pod_group(self) -> None:
        self._make_pod_group(*self._some_gang())

    def _make_pod_group(self, gang: str, habit: Habit) -> None:
        if habit.way == "annotation" and self._rng.random() < 0.8:
            return
        api = {"x": APIS[1], "kai": KAI_API}.get(habit.way, APIS[0])
        if f"{NAMESPACES[gang]}/{gang}" not in self._truth.objects[api]:
            self._truth.create(api, habit.pod_group(gang, self._rng))

    def _change_pod_group(self) -> None:
        if (found := self._some_pod_group()) is None:
            return
        api, pod_group = found
        if self._rng.random() < 0.5:
            minimum = pod_group["spec"]["minMember"] + self._rng.choice([-1, 1])
            pod_group["spec"]["minMember"] = min(max(minimum, 0), 4)
            if api == KAI_API:
                self._change_parts(pod_group["spec"])
        else:
            pod_group["metadata"]["annotations"] = saying(self._rng, self._temper)
        self._truth.changed(api, pod_group)

    def _change_parts(self, spec: Json) -> None:
        """Other minima of its subgroups, or none; always the same two, so that each member has one."""
        spec.pop("subGroups", None)
        if self._rng.random() < 0.7:
            spec["subGroups"] = subgroups(self._rng.randint(0, 2), self._rng.randint(0, 2))

    def _delete_pod_group(self) -> None:
        if (found := self._some_pod_group()) is not None:
            self._truth.delete(found[0], key_of(found[1]))

    def _some_pod_group(self) -> tuple[str, Json] | None:
        found = [(api, obj) for api in self._apis for obj in self._truth.objects[api].values()]
        return self._rng.choice(found) if found else None

    # --- pods ---

    def _new_single(self) -> None:
        self._number += 1
        given = {"cpu": self._rng.choice([1, 1, 2]), "priority": self._rng.choice([0, 0, 5])}
        self._truth.create(PODS, pod_json(f"s-{self._number}", **given))

    def _bind_foreign(self) -> None:
        """Another scheduler's pod, which does not ask whether it fits."""
        if nodes := list(self._truth.objects[NODES]):
            self._number += 1
            node = self._rng.choice(nodes)
            self._truth.create(PODS, pod_json(f"o-{self._number}", cpu=1, scheduler=_OTHER, node=node))

    def _delete_pod(self) -> None:
        if pod := self._some_pod():
            self._truth.delete(PODS, key_of(pod))

    def _make_again(self) -> None:
        if pod := self._some_pod():
            self._replace(pod)

    def _replace(self, pod: Json) -> None:
        """As a controller does: the same name, another pod."""
        self._truth.delete(PODS, key_of(pod))
        spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
        meta = {key: pod["metadata"].get(key) or {} for key in ("name", "namespace", "labels", "annotations")}
        meta["annotations"] = {key: text for key, text in meta["annotations"].items() if key != TIMED_OUT}
        self._truth.create(PODS, {"metadata": meta, "spec": spec})

    def lose_node(self) -> None:
        """A node dies with all that ran there; some of it is made again at once."""
        if not self._truth.objects[NODES]:
            return
        nodes = self._truth.objects[NODES].keys()
        busy = {node_of(pod) for pod in self._pods.values() if gang_of(pod)} & nodes
        name = self._rng.choice(sorted(busy or nodes))
        self._truth.delete(NODES, name)
        for pod in [each for each in self._pods.values() if node_of(each) == name]:
            if self._rng.random() < 0.6:
                self._replace(pod)
            else:
                self._truth.delete(PODS, key_of(pod))

    def _terminate(self) -> None:
        if pod := self._some_pod():
            self._end(pod)

    def _end(self, pod: Json) -> None:
        pod["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
        self._truth.changed(PODS, pod)

    def _ungate(self) -> None:
        gated = [pod for pod in self._pods.values() if is_gated(pod)]
        if gated:
            pod = self._rng.choice(gated)
            del pod["spec"]["schedulingGates"]
            self._truth.changed(PODS, pod)

    def _forgive(self) -> None:
        """Somebody takes the annotation of a time-out away."""
        timed_out = [pod for pod in self._pods.values() if TIMED_OUT in (pod["metadata"].get("annotations") or {})]
        if timed_out:
            pod = self._rng.choice(timed_out)
            del pod["metadata"]["annotations"][TIMED_OUT]
            self._truth.changed(PODS, pod)

    def _finish(self) -> None:
        bound = [pod for pod in self._pods.values() if node_of(pod) and not is_finished(pod)]
        if bound:
            pod = self._rng.choice(bound)
            self._truth.finish(pod, self._rng.choice(["Succeeded", "Succeeded", "Failed"]))

    def _some_pod(self) -> Json | None:
        return self._rng.choice(list(self._pods.values())) if self._pods else None
