"""Many pods at once go exactly where they would go one by one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.plan.framework.profile import Profile
from koordpy.plan.framework.profiles import PluginSet, ProfileSpec, build_profile, default_profile
from koordpy.plan.placement import batch, fit
from koordpy.state.cluster import Cluster
from koordpy.state.trial import Trial
from tests.builders import node, pod
from tests.plan.constraints import HOSTNAME, affinity, host_port, pod_term, selector, spread_over, taint

MOST = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
EFFECTS = ["PreferNoSchedule", "NoSchedule"]
PROFILES = [
    default_profile("koord-scheduler"),
    build_profile("packing", ProfileSpec(args={"NodeResourcesFit": MOST})),
    build_profile("plain", ProfileSpec(scores=PluginSet(enabled=(("ImageLocality", 1),), disabled=("*",)))),
]


def one_by_one(shape: Any, wanted: int, cluster: Cluster, profile: Profile) -> list[int]:
    rows: list[int] = []
    with Trial(cluster.occupancy) as trial:
        for _ in range(wanted):
            accepted = fit.feasible(shape, cluster, profile)
            if not accepted.any():
                break
            rows.append(fit.best(shape, cluster, profile, accepted))
            trial.place(rows[-1], shape)
    return rows


def random_cluster(rng: Random) -> Cluster:
    cluster = Cluster()
    for number in range(rng.randint(1, 8)):
        cluster.upsert_node(
            node(
                f"n{number}",
                cpu=rng.choice([1, 2, 4, 7]),
                memory=rng.choice(["1Gi", "4Gi", "9Gi"]),
                pods=rng.choice([1, 3, 110]),
                labels={"pool": rng.choice("xy"), "zone": rng.choice("ab")},
                taints=[taint("k", effect=rng.choice(["PreferNoSchedule", "NoSchedule"]))]
                if rng.random() < 0.4
                else None,
                images={"example.com/image:1": 900 * 2**20} if rng.random() < 0.3 else None,
            )
        )
        for neighbour in range(rng.randint(0, 3)):
            near = affinity(apart=[pod_term("zone", selector(app="a"))]) if rng.random() < 0.1 else None
            ports = [host_port(80)] if rng.random() < 0.1 else None
            cluster.upsert_pod(
                pod(
                    f"r{number}-{neighbour}",
                    node=f"n{number}",
                    cpu="300m",
                    memory="100Mi",
                    affinity=near,
                    host_ports=ports,
                )
            )
    return cluster


def random_pod(rng: Random) -> dict[str, Any]:
    given: dict[str, Any] = {"cpu": rng.choice(["0", "250m", "1"]), "memory": rng.choice([None, "256Mi", "1Gi"])}
    if rng.random() < 0.3:
        given["labels"] = {"app": "a"}
    if rng.random() < 0.3:
        given["tolerations"] = [{"key": "k", "operator": "Exists"}]
    if rng.random() < 0.2:
        given["host_ports"] = [host_port(80)]
    if rng.random() < 0.4:
        preferred = {
            "weight": 50,
            "preference": {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["x"]}]},
        }
        given["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}
    return given


def _in(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": [value]}


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_a_batch_goes_where_its_pods_would_go_one_by_one(seed: int):
    rng = Random(seed)
    cluster, profile = random_cluster(rng), rng.choice(PROFILES)
    shape = cluster.upsert_pod(pod("incoming", **random_pod(rng))).shape
    wanted = rng.choice([1, 2, 5, 40])
    offered = batch.slots(shape, cluster, profile)
    assert offered is not None
    assert batch.can_fill(shape, cluster, profile)
    assert batch.fill(shape, wanted, offered, cluster, profile) == one_by_one(shape, wanted, cluster, profile)


@pytest.mark.parametrize(
    "given_",
    [
        {"affinity": affinity(apart=[pod_term("zone", selector(app="a"))]), "labels": {"app": "a"}},
        {"spread": [spread_over("zone", selector(app="a"))], "labels": {"app": "a"}},
    ],
)
def test_pods_that_mind_each_other_are_not_placed_as_a_batch(given_: dict[str, Any]):
    cluster = Cluster()
    cluster.upsert_node(node("n1", labels={"zone": "a"}))
    cluster.upsert_node(node("n2", labels={"zone": "a"}))
    shape = cluster.upsert_pod(pod("p", **given_)).shape
    assert batch.slots(shape, cluster, PROFILES[0]) is None


def test_pods_that_keep_apart_by_host_name_have_a_slot_on_each_node_without_their_kind():
    cluster = Cluster()
    for name in ("n1", "n2", "n3"):
        cluster.upsert_node(node(name))
    cluster.upsert_node(node("nameless", labels={HOSTNAME: None}, cpu=2))
    kind: dict[str, Any] = {"affinity": affinity(apart=[pod_term(HOSTNAME, selector(app="a"))]), "labels": {"app": "a"}}
    cluster.upsert_pod(pod("first", node="n2", cpu=1, **kind))
    shape = cluster.upsert_pod(pod("next", cpu=1, **kind)).shape
    offered = batch.slots(shape, cluster, PROFILES[0])
    assert offered is not None
    rows = {name: cluster.nodes.row_of(name) for name in ("n1", "n2", "n3", "nameless")}
    assert {name: int(offered[row]) for name, row in rows.items()} == {"n1": 1, "n2": 0, "n3": 1, "nameless": 2}
    assert len(one_by_one(shape, 9, cluster, PROFILES[0])) == 4


def test_when_the_most_preferred_node_is_full_the_others_are_judged_anew():
    """Preferences are relative to the best candidate: 60 beside 40 weighs more when the 100 is gone."""
    cluster = Cluster()
    cluster.upsert_node(node("best", cpu=1, memory="1Gi", labels={"pool": "x", "zone": "a"}))
    cluster.upsert_node(node("good", cpu=8, memory="8Gi", labels={"pool": "x", "zone": "b"}))
    cluster.upsert_node(node("fair", cpu=8, memory="8Gi", labels={"pool": "y", "zone": "a"}))
    cluster.upsert_pod(pod("busy", node="good", cpu="4300m", memory="4300Mi"))
    preferred = [
        {"weight": 60, "preference": {"matchExpressions": [_in("pool", "x")]}},
        {"weight": 40, "preference": {"matchExpressions": [_in("zone", "a")]}},
    ]
    preferences = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    shape = cluster.upsert_pod(pod("incoming", cpu=1, memory="1Gi", affinity=preferences)).shape
    offered = batch.slots(shape, cluster, PROFILES[0])
    assert offered is not None
    rows = batch.fill(shape, 3, offered, cluster, PROFILES[0])
    assert rows == one_by_one(shape, 3, cluster, PROFILES[0])
    assert [cluster.nodes.names[row] for row in rows][:2] == ["best", "good"]
