"""The client that only binds: a gang as soon as it is whole, and not before."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from bench.live.bare import _when_whole
from bench.live.dress import koordinator, singly
from bench.live.objects import Gang
from bench.live.observer import Watched


def coming(*pods: dict) -> list[list[str]]:
    come: defaultdict[str, list[str]] = defaultdict(list)
    return [list(_when_whole(msgspec.convert(pod, Watched), come)) for pod in pods]


def test_a_gang_is_bound_when_its_last_member_has_come():
    (a1, a2), (b1, b2) = (koordinator(Gang(name, 2), "default").pods for name in "ab")
    assert coming(a1, b1, b2, a2) == [[], [], ["b-0000", "b-0001"], ["a-0000", "a-0001"]]


def test_a_pod_of_no_gang_is_bound_at_once():
    assert coming(*singly(Gang("app", 2, together=False), "default").pods) == [["app-0000"], ["app-0001"]]
