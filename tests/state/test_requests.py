from typing import Any

import pytest

from koordpy.api.errors import MalformedValue
from koordpy.api.pod import Pod
from koordpy.state.requests import requests_of
from tests.builders import typed


def spec(*containers: Any, init: Any = (), status: Any = None, **more: Any) -> Pod:
    body = {"containers": list(containers), "initContainers": list(init), **more}
    return typed({"metadata": {"name": "p"}, "spec": body, "status": status or {}}, Pod)


def container(cpu: str, sidecar: bool = False) -> dict[str, Any]:
    body: dict[str, Any] = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return body | {"restartPolicy": "Always"} if sidecar else body


def cpu(pod: Pod) -> int:
    return requests_of(pod).needed.get("cpu", 0)


def test_containers_add_up():
    assert cpu(spec(container("1"), container("500m"))) == 1500


def test_a_plain_init_container_counts_only_if_it_is_larger():
    assert cpu(spec(container("1"), init=[container("3"), container("2")])) == 3000
    assert cpu(spec(container("4"), init=[container("3")])) == 4000


def test_sidecars_run_beside_the_containers():
    assert cpu(spec(container("1"), init=[container("2", sidecar=True)])) == 3000


def test_an_init_container_runs_beside_the_sidecars_declared_before_it():
    before = [container("2", sidecar=True), container("5")]
    after = [container("5"), container("2", sidecar=True)]
    assert cpu(spec(container("1"), init=before)) == 7000
    assert cpu(spec(container("1"), init=after)) == 5000


def test_overhead_is_added_on_top():
    assert cpu(spec(container("1"), overhead={"cpu": "250m"})) == 1250


def test_pod_level_requests_replace_the_sum_of_the_containers():
    assert cpu(spec(container("1"), resources={"requests": {"cpu": "7"}}, overhead={"cpu": "1"})) == 8000


def test_pod_level_requests_do_not_touch_other_resources():
    gpus = {"name": "c", "resources": {"requests": {"nvidia.com/gpu": "2"}}}
    assert requests_of(spec(gpus, resources={"requests": {"cpu": "1"}})).needed["nvidia.com/gpu"] == 2


def test_scoring_counts_a_little_for_each_container_without_requests():
    assert requests_of(spec({"name": "a"}, {"name": "b"})).scored == (200, 2 * 200 * 1024**2)


def test_every_pod_takes_one_pod():
    assert requests_of(spec({"name": "a"})).needed == {"pods": 1}


def test_a_bad_quantity_is_named_with_its_field():
    with pytest.raises(MalformedValue, match=r"spec.containers\[1\].resources.requests\[cpu\]: 'much'"):
        requests_of(spec(container("1"), container("much")))


def test_an_absurd_quantity_is_capped_so_that_sums_cannot_overflow():
    assert cpu(spec(container("1e400"))) == 2**50


def resizing(allocated: str, actual: str, *conditions: Any) -> dict[str, Any]:
    running = {"name": "c", "allocatedResources": {"cpu": allocated}, "resources": {"requests": {"cpu": actual}}}
    return {"containerStatuses": [running], "conditions": list(conditions)}


def test_while_it_is_resized_a_container_counts_the_most_of_what_it_asks_has_and_was_promised():
    assert cpu(spec(container("1"), status=resizing("2", "3"))) == 3000
    assert cpu(spec(container("4"), status=resizing("2", "3"))) == 4000


def test_a_resize_that_the_node_can_never_grant_is_not_counted():
    infeasible = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    assert cpu(spec(container("64"), status=resizing("2", "2", infeasible))) == 2000


# --- resizes of the pod as a whole ---

INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}


def whole(asked: str, allocated: str, actual: str, *conditions: Any, **more: Any) -> Pod:
    """A pod that asks for CPU as a whole, and what its node has promised and given it."""
    given = {"allocatedResources": {"cpu": allocated}, "resources": {"requests": {"cpu": actual}}}
    status = given | {"conditions": list(conditions)}
    return spec(container("1"), resources={"requests": {"cpu": asked}}, status=status, **more)


def test_while_it_is_resized_a_pod_counts_the_most_of_what_it_asks_has_and_was_promised():
    assert cpu(whole("4", "2", "3")) == 4000
    assert cpu(whole("2", "4", "3")) == 4000
    assert cpu(whole("2", "3", "4")) == 4000


def test_a_resize_of_the_pod_that_the_node_can_never_grant_is_not_counted():
    assert cpu(whole("64", "2", "3", INFEASIBLE)) == 3000


def test_overhead_comes_on_top_of_a_pod_that_is_resized():
    assert cpu(whole("2", "3", "4", overhead={"cpu": "1"})) == 5000


def test_what_a_pod_was_promised_counts_only_once_it_says_what_it_has():
    status = {"allocatedResources": {"cpu": "9"}}
    assert cpu(spec(container("1"), resources={"requests": {"cpu": "2"}}, status=status)) == 2000


def test_a_pod_has_as_a_whole_only_what_it_asks_for_as_a_whole():
    """Its status also says what its containers add up to."""
    status = {"resources": {"requests": {"cpu": "9", "memory": "9Gi"}}}
    resized = spec(container("1"), resources={"requests": {"cpu": "2"}}, status=status)
    assert requests_of(resized).needed == {"cpu": 9000, "pods": 1}
    assert cpu(spec(container("1"), status=status)) == 1000


def test_scoring_counts_a_resize_of_the_pod():
    assert requests_of(whole("2", "3", "4")).scored[0] == 4000


def test_a_pod_that_asks_for_nothing_as_a_whole_is_scored_by_its_containers():
    idle = {"name": "idle"}
    assert requests_of(spec(container("1"), idle, resources={})).scored[0] == 1100
