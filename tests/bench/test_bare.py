"""The bare client binds a gang as soon as it is complete, and not before."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from bench.live.bare import _when_complete
from bench.live.manifests import koordinator, plain_pods
from bench.live.objects import Gang
from bench.live.observer import Watched


def bound_with_each(*pods: dict) -> list[list[str]]:
    members_of: defaultdict[str, list[str]] = defaultdict(list)
    return [list(_when_complete(msgspec.convert(pod, Watched), members_of)) for pod in pods]


def test_a_gang_is_bound_when_its_last_member_is_created():
    (a1, a2), (b1, b2) = (koordinator(Gang(name, 2), "default").pods for name in "ab")
    assert bound_with_each(a1, b1, b2, a2) == [[], [], ["b-0000", "b-0001"], ["a-0000", "a-0001"]]


def test_a_pod_of_no_gang_is_bound_at_once():
    assert bound_with_each(*plain_pods(Gang("app", 2, all_or_nothing=False), "default").pods) == [
        ["app-0000"],
        ["app-0001"],
    ]
