"""How the pods and PodGroups of a gang are written: by which label or annotation, and what they say."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.builders import Json
from tests.scheduler.gangs.model.oracle import GRACE, KAI_GROUP, KOORDINATOR, POLICIES, SIGS, SUBGROUP, X_LABEL
from tests.scheduler.gangs.model.temper import Temper

NAMESPACES = {"a": "default", "b": "default", "c": "default", "d": "team", "e": "team"}  # of each gang
GANGS = tuple(NAMESPACES)


def saying(rng: random.Random, temper: Temper) -> dict[str, str]:
    """Annotations that configure a gang."""
    said: dict[str, str] = {}
    if rng.random() < temper.nonstrict:
        said["mode"] = "NonStrict"
    elif rng.random() < 0.2:
        said["mode"] = rng.choice(["Strict", "Lax"])
    if rng.random() < 0.5:
        said["match-policy"] = rng.choice(POLICIES)
    if rng.random() < temper.grouped:
        listed: Sequence[str] = rng.sample(GANGS, rng.choice([1, 1, 2]))
        if temper.graces and rng.random() < 0.9:
            listed = GANGS[:2]  # the same for all, so that some list each other
        said[rng.choice(["groups", "gang-groups"])] = json.dumps([f"{NAMESPACES[each]}/{each}" for each in listed])
    if rng.random() < 0.5:
        said["waiting-time"] = rng.choice(["10s", "600s", "600s"])
    more = {}
    if temper.graces and rng.random() < temper.graces:
        more[GRACE] = rng.choice(["0s", "5s", "20s", "20s", "60s"])
    return {f"{KOORDINATOR}/{key}": value for key, value in said.items()} | more


def subgroups(first: int, second: int) -> list[Json]:
    return [{"name": "a", "minMember": first}, {"name": "b", "minMember": second}]


@dataclass(frozen=True)
class Habit:
    """What the members of one gang have in common, for as long as its owner does not think again."""

    way: str
    minimum: int
    most: int  # members
    says: dict[str, str]
    annotated: str  # where it is said
    cpus: list[int]
    priorities: list[int]
    parts: tuple[int, ...] = ()  # of one of KAI's: the minima of its subgroups a and b, if it has any

    @classmethod
    def choose(cls, rng: random.Random, temper: Temper) -> Habit:
        chosen = cls._choose(rng, temper)
        if temper.graces:
            chosen = replace(chosen, annotated=rng.choice(["group", "all", "all"]))
        if not temper.kai or rng.random() >= temper.kai:
            return chosen
        first = rng.randint(0, chosen.minimum)
        parts = rng.choice([(), (first, chosen.minimum - first), (first // 2, chosen.minimum - first)])
        return replace(chosen, way="kai", parts=parts)

    @classmethod
    def _choose(cls, rng: random.Random, temper: Temper) -> Habit:
        minimum = rng.choice([1, 2, 2, 3, 3, 4])
        return cls(
            way=rng.choice(["sigs", "x", "annotation", "name"]),
            minimum=minimum,
            most=minimum + rng.choice([0, 0, 1]),
            says=saying(rng, temper),
            annotated=rng.choice(["group", "group", "all", "some"]),
            cpus=rng.choice([[1], [1], [2], [1, 2]]),
            priorities=rng.choice([[0], [0], [0], [5], [0, 5], [-5]]),
        )

    def of_member(self, gang: str, name: str, rng: random.Random) -> Json:
        """Labels and annotations. Every member of KAI's says a subgroup: the first ones a, the others b."""
        labels: dict[str, str] = {}
        annotations: dict[str, str] = {}
        match self.way:
            case "sigs":
                labels[SIGS] = gang
            case "x":
                labels[X_LABEL] = gang
            case "name":
                labels[f"{SIGS}/name"] = gang
            case "annotation":
                annotations[f"{KOORDINATOR}/name"] = gang
            case "kai":
                annotations[KAI_GROUP] = gang
                is_first = int(name.rpartition("-")[2]) <= (self.parts[0] if self.parts else 1)
                labels[SUBGROUP] = rng.choice("ab") if rng.random() < 0.1 else "b" if not is_first else "a"
        if self.way in {"annotation", "name"} or rng.random() < 0.1:
            annotations[f"{KOORDINATOR}/min-available"] = str(self.minimum)
        if self.annotated == "all" or (self.annotated == "some" and rng.random() < 0.4):
            annotations |= self.says
        return {"labels": labels, "annotations": annotations}

    def pod_group(self, gang: str, rng: random.Random) -> Json:
        spec: Json = {"minMember": self.minimum}
        if self.way == "kai":
            spec |= {"subGroups": subgroups(*self.parts)} if self.parts else {}
        elif rng.random() < 0.15:
            spec["minResources"] = {"cpu": str(rng.choice([1, 3, 6]))}
        if self.way != "kai" and rng.random() < 0.2:
            spec["scheduleTimeoutSeconds"] = rng.choice([5, 30])
        says = dict(self.says) if self.annotated == "group" else {}
        return {"metadata": {"name": gang, "namespace": NAMESPACES[gang], "annotations": says}, "spec": spec}
