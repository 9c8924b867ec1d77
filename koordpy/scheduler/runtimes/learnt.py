"""What pods of a workload took, and how long a running one will therefore still take.

Pods are of one workload if they agree in namespace, kind and name of their owner, images and requests. The numbers that
operators and users count their runs with are left out of the name: `train-17` and `train-18` are one workload.

It is a guess, so it is used for expected starts alone, and marked there. Reservations are promises: they are made from
declared run times only.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from functools import lru_cache
from statistics import median

import msgspec

from koordpy.api.pod import Pod
from koordpy.state.pods import PodRecord

_MOST_WORKLOADS = 1000  # the one that was seen longest ago is forgotten
_MOST_SEEN = 16  # run times of one workload, the latest
# Numbers, and what generateName adds: five characters without vowels.
_COUNTED = re.compile(r"([-._]?\d+|-[bcdfghjklmnpqrstvwxz2456789]{5})+$")


class LearntRunTimes:
    """The latest run times of each workload, in seconds."""

    def __init__(self) -> None:
        self._seen: dict[str, list[int]] = {}  # the workload seen last is last
        self.changes = 0  # grows with each run time that is learnt

    def pod_finished(self, pod: Pod, known: PodRecord | None) -> None:
        """Only what succeeded says how long such a pod takes, and only what ran before our eyes is counted once."""
        ended = pod.finished_at
        if known is None or not known.started or ended is None or pod.status.phase != "Succeeded":
            return
        workload = _workload_of(known)
        if workload:
            self._learn(workload, max(1, round(ended - known.started)))

    def _learn(self, workload: str, seconds: int) -> None:
        seen = self._seen.pop(workload, [])
        self._seen[workload] = [*seen[1 - _MOST_SEEN :], seconds]
        while len(self._seen) > _MOST_WORKLOADS:
            del self._seen[next(iter(self._seen))]
        self.changes += 1

    def run_time(self, pod: PodRecord, elapsed_s: float = 0.0) -> float | None:
        """The median of what took longer than the pod has taken; None: nothing like it did."""
        longer = [each for each in self._seen.get(_workload_of(pod), ()) if each > elapsed_s]
        return float(median(longer)) if longer else None

    def run_time_of(self, members: Iterable[PodRecord]) -> float | None:
        """Of a job: the longest of its members'; None if nothing is known of one of them."""
        times = [self.run_time(member) for member in members]
        known = [each for each in times if each is not None]
        return max(known) if known and len(known) == len(times) else None

    def encode(self) -> str:
        return msgspec.json.encode(self._seen).decode()

    def restore(self, text: str) -> None:
        """What an earlier process has learnt, before what this one has; raises `msgspec.DecodeError`."""
        found = msgspec.json.decode(text, type=dict[str, list[int]])
        ours, self._seen = self._seen, {}
        for workload, seen in (*found.items(), *ours.items()):
            before = self._seen.pop(workload, [])
            self._seen[workload] = [*before, *(each for each in seen if each > 0)][-_MOST_SEEN:]
        for workload in list(self._seen)[:-_MOST_WORKLOADS]:
            del self._seen[workload]


def _workload_of(pod: PodRecord) -> str:
    """`team/PyTorchJob/train/5f3a…`: images and requests as one number; "" for a pod that cannot be read."""
    if pod.own_shape is None:
        return ""
    kind, name = pod.owner or ("Pod", pod.name)
    traits = pod.own_shape.traits
    return f"{pod.namespace}/{kind}/{_without_number(name)}/{_digest(traits.images, traits.needed)}"


@lru_cache(maxsize=4096)
def _without_number(name: str) -> str:
    return _COUNTED.sub("", name) or name


@lru_cache(maxsize=4096)
def _digest(images: tuple[str, ...], needed: tuple[tuple[str, int], ...]) -> str:
    """The same in every process."""
    return f"{zlib.crc32(repr((sorted(images), sorted(needed))).encode()):08x}"
