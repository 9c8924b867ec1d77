"""What looks like a mistake of a user's, and would otherwise be seen by nobody: one Warning event for each.

A PodGroup that no pod names, pods whose label names no PodGroup, keys of ours that are misspelt, a scheduler's name
that is nearly ours. Nothing is refused because of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from koordpy.api.keys import POD_GROUP
from koordpy.api.pod import Pod
from koordpy.api.podgroup.frontends import front_end_of, name_of
from koordpy.api.spelling import likely, likely_key
from koordpy.scheduler.report.reporter import Reporter
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord

_AT_ONCE = 20  # warnings in one turn of the loop: each looks for names like the gang's
_MOST_SLIPS = 10_000  # pods with misspelt keys that are remembered
_PATIENCE_S = 60.0  # pods and PodGroups are made one after the other, in whatever order


class Oversights:
    """Looks at pods as they come, and at gangs that stay half there for a minute."""

    def __init__(
        self, cluster: Cluster, reporter: Reporter, schedulers: Collection[str], clock: Callable[[], float]
    ) -> None:
        self._cluster, self._reporter, self._clock = cluster, reporter, clock
        self._schedulers = frozenset(schedulers)
        self._due: dict[str, float] = {}  # gangs that are half there, and when that is worth a warning; oldest first
        self._said: set[str] = set()  # those that were warned about, until it is mended
        self._slips: dict[str, dict[str, None]] = {}  # UID of a pending pod -> what looks misspelt; oldest first

    # --- pods ---

    def look_at_pod(self, pod: Pod, record: PodRecord) -> None:
        """A pod without a node appeared or changed."""
        if record.scheduler in self._schedulers:
            self._look_at_claims(record)
            for key in (*pod.metadata.labels, *pod.metadata.annotations):
                if meant := likely_key(key):
                    self._warn_about(record, f"{key} means nothing to {record.scheduler}; did you mean {meant}?")
        elif record.gang and (meant := likely(record.scheduler, self._schedulers)):
            text = f"schedulerName {record.scheduler} is none of ours, "
            text += f"so this pod is no member of gang {name_of(record.gang)}"
            self._warn_about(record, f"{text}; did you mean {meant}?")

    def _look_at_claims(self, record: PodRecord) -> None:
        """Several front-ends may claim it, each by an object of a user's."""
        if len(record.claims.named) + bool(record.claims.of_owner) < 2:
            return
        rivals = self._cluster.claims.rivals(record)
        if len(rivals) > 1:
            first, second = (f"{name_of(each)} ({front_end_of(each).api_versions[0]})" for each in rivals[:2])
            self._reporter.claimed_twice(record, f"the pod is in two gangs: it belongs to {first}, and not to {second}")

    def _warn_about(self, record: PodRecord, text: str) -> None:
        self._slips.setdefault(record.uid, {})[text] = None
        if len(self._slips) > _MOST_SLIPS:
            del self._slips[next(iter(self._slips))]
        self._reporter.looks_misspelt(record, text)

    def _warn_again(self) -> None:
        """Of pods that were there before we led: what was said then went nowhere."""
        for uid, texts in list(self._slips.items()):
            record = self._cluster.pods.get(uid)
            if record is None or record.bound:
                del self._slips[uid]
                continue
            for text in texts:
                self._reporter.looks_misspelt(record, text)
        for record in self._cluster.pods.values():
            if record.scheduler in self._schedulers and not record.bound:
                self._look_at_claims(record)

    # --- gangs ---

    def look_at(self, groups: Iterable[GangGroup]) -> None:
        for gang_id in {gang_id for group in groups for gang_id in group}:
            gang = self._cluster.gangs.get(gang_id)
            if gang is not None:
                self._look_at_object(gang)
            if gang is None or not (_has_no_pods(gang) or _has_no_object(gang)):
                self._due.pop(gang_id, None)
                self._said.discard(gang_id)
            elif gang_id not in self._due and gang_id not in self._said:
                self._due[gang_id] = self._clock() + _PATIENCE_S

    def _look_at_object(self, gang: Gang) -> None:
        for key, _ in gang.object.annotations if gang.object is not None else ():
            if meant := likely_key(key):
                self._reporter.gang_looks_misspelt(gang, f"{key} means nothing; did you mean {meant}?")

    def seconds_to_next(self) -> float | None:
        first = next(iter(self._due.values()), None)
        return max(0.0, first - self._clock()) if first is not None else None

    def act(self) -> None:
        now, acted = self._clock(), 0
        while self._due and acted < _AT_ONCE and next(iter(self._due.values())) <= now:
            gang_id = next(iter(self._due))
            del self._due[gang_id]
            self._said.add(gang_id)
            gang = self._cluster.gangs.get(gang_id)
            problem = self._problem(gang) if gang is not None else None
            if gang is not None and problem is not None:
                self._reporter.gang_event(gang, "Warning", *problem)
            acted += 1

    def clear(self) -> None:
        self._due.clear()
        self._said.clear()
        self._warn_again()

    def _problem(self, gang: Gang) -> tuple[str, str] | None:
        """The reason of the event and its text; None: all is well, or nobody speaks of the gang any more."""
        if _has_no_pods(gang):
            meant = self._others_like(gang, lambda other: other.needs_object and not other.objects)
            ending = f"; pods name {meant}, which does not exist" if meant else ""
            return "NoPods", f"no pod of the namespace has the label {POD_GROUP}: {_name(gang)}{ending}"
        if _has_no_object(gang):
            meant = self._others_like(gang, lambda other: bool(other.objects))
            ending = f"; did you mean {meant}?" if meant else ""
            return "PodGroupNotFound", f"its label names PodGroup {_name(gang)}, which does not exist{ending}"
        return None

    def _others_like(self, gang: Gang, suits: Callable[[Gang], bool]) -> str:
        """The name of a gang of the same namespace that was probably meant."""
        namespace = gang.id.partition("/")[0]
        others = {_name(each) for each in self._cluster.gangs if each.id.startswith(f"{namespace}/") and suits(each)}
        return likely(_name(gang), others)


def _has_no_pods(gang: Gang) -> bool:
    """Nor had any: a job that is over may have left its PodGroup behind."""
    if gang.object is None or gang.object.was_started:
        return False
    return not (gang.pending or gang.assumed or gang.bound or gang.absent or gang.finished)


def _has_no_object(gang: Gang) -> bool:
    return gang.needs_object and not gang.objects


def _name(gang: Gang) -> str:
    return gang.name.partition("/")[2]
