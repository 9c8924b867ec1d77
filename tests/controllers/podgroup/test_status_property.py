"""Whatever the order of the pods' events, and however often the controller restarts, the last status is the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from koordpy.api.pod import Pod
from koordpy.api.podgroup.coscheduling import SIGS_GROUP, PodGroup, PodGroupStatus
from koordpy.controllers.podgroup.gangs import GangIndex
from koordpy.controllers.podgroup.kinds import KINDS
from tests.builders import Json, typed
from tests.controllers.podgroup.gangs import PHASES, group, member, pod_group, status_of

STEPS = ["Pending", "bound", "Running"]  # then it ends
PHASE_NAMES = ["", "Pending", "PreScheduling", "Scheduling", "Scheduled", "Running", "Finished", "Failed", "Unknown"]
counts = st.integers(0, 6)
statuses = st.builds(
    PodGroupStatus,
    phase=st.sampled_from(PHASE_NAMES),
    scheduled=counts,
    running=counts,
    succeeded=counts,
    failed=counts,
    schedule_start_time=st.sampled_from([None, "1970-01-01T00:16:42Z", "soon"]),
)


@st.composite
def histories(draw) -> list[list[str]]:
    """What each pod of a gang goes through; some have not come to an end yet."""
    history = []
    for _ in range(draw(st.integers(0, 6))):
        steps = [*STEPS, draw(st.sampled_from(["Succeeded", "Failed"]))]
        history.append(steps[: draw(st.integers(1, len(steps)))])
    return history


def pod(number: int, step: str) -> Pod:
    """A pod after a step. The way it names its gang differs from pod to pod, and means the same."""
    meta: Json = {
        "name": f"p{number}",
        "namespace": "default",
        "uid": f"u{number}",
        "creationTimestamp": f"2026-01-01T00:00:{number:02}Z",
        "ownerReferences": [{"name": f"owner-{number}"}],
        "labels": {["pod-group.scheduling.sigs.k8s.io", "scheduling.x-k8s.io/pod-group"][number % 2]: "g"},
    }
    obj: Json = {"metadata": meta, "spec": {"schedulerName": "koord-scheduler"}, "status": {"phase": "Pending"}}
    if step != "Pending":
        obj["spec"]["nodeName"] = "n"
        transition = f"2026-01-01T00:01:{59 - number:02}Z"  # the younger, the sooner
        bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": transition}
        obj["status"] = {"phase": "Pending" if step == "bound" else step, "conditions": [bound]}
    return typed(obj, Pod)


class Controller:
    """Sees events of pods, reconciles its gang when asked to, and can be restarted. Only the status outlives it."""

    def __init__(self, pod_group: PodGroup) -> None:
        self._pod_group, self.status = pod_group, PodGroupStatus()
        self._pods: dict[int, str] = {}
        self._start()

    def _start(self) -> None:
        self._gangs = GangIndex(["koord-scheduler"], lambda _: None, lambda: 4e9)
        self._gangs.upsert_pod_group(KINDS[f"{SIGS_GROUP}/v1alpha1"], self._pod_group)

    def see(self, number: int, step: str) -> None:
        self._pods[number] = step
        self._gangs.upsert(pod(number, step))

    def restart(self, order: list[int]) -> None:
        self._start()
        for number in sorted(self._pods, key=order.index):
            self._gangs.upsert(pod(number, self._pods[number]))

    def reconcile(self) -> PodGroupStatus:
        gang = self._gangs.get("default/g")
        assert gang is not None
        self.status = status_of(gang.members.values(), gang.object, self.status)
        return self.status


@given(st.data(), histories(), st.integers(0, 4))
def test_the_end_does_not_depend_on_the_order_of_events_nor_on_restarts(data, history, minimum):
    at_once = Controller(pod_group(minimum))
    for number, steps in enumerate(history):
        at_once.see(number, steps[-1])
    controller = Controller(pod_group(minimum))
    turns = data.draw(st.permutations([number for number, steps in enumerate(history) for _ in steps]))
    left = [list(steps) for steps in history]
    for number in turns:
        controller.see(number, left[number].pop(0))
        if data.draw(st.booleans(), label="reconcile"):
            controller.reconcile()
        if data.draw(st.booleans(), label="restart"):
            controller.restart(data.draw(st.permutations(range(len(history)))))
    assert controller.reconcile() == at_once.reconcile()


@given(st.lists(st.sampled_from([*PHASES, *(letter.upper() for letter in PHASES)]), max_size=8), counts, statuses)
def test_a_second_reconcile_of_the_same_pods_changes_nothing(letters, minimum, previous):
    gang = [member(letter, number) for number, letter in enumerate(letters)]
    once = status_of(gang, group(minimum), previous)
    assert status_of(gang, group(minimum), once) == once


@given(st.lists(st.sampled_from(list(PHASES)), min_size=1, max_size=8), counts, statuses)
def test_the_start_is_set_once_and_never_later(letters, minimum, previous):
    gang = [member(letter, number) for number, letter in enumerate(letters)]
    before = status_of(gang, group(minimum), previous)
    later = [each._replace(bound_at=each.bound_at and each.bound_at + 60) for each in gang]
    after = status_of(later, group(minimum), before)
    assert after.schedule_start_time == before.schedule_start_time
