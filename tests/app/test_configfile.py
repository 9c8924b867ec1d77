"""The configuration file: profiles and their plugins as kube-scheduler means them, arguments by what they do."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from koordpy.app.settings import Settings
from koordpy.plan.framework.profile import Profile
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement import fit
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.shapes import Shape
from tests.builders import node, pod
from tests.configs import HEAD, Json, disabled, enabled, reading, zone_constraint
from tests.plan.constraints import ZONE, affinity, node_term, pod_term, requirement, selector

FILTERS = [
    "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions",
    "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity",
]  # fmt: skip
SCORES = {
    "TaintToleration": 3, "NodeAffinity": 2, "NodeResourcesFit": 1, "PodTopologySpread": 2, "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1, "ImageLocality": 1, "NetworkTopology": 1,
}  # fmt: skip
GPU = "nvidia.com/gpu"


@pytest.fixture
def read(tmp_path):
    return partial(reading, tmp_path)


@pytest.fixture
def profile(read):
    """The one profile of a file, given its fields."""
    return lambda **fields: read(profiles=[fields])[0].profiles[0]


@pytest.fixture
def configured(profile):
    """A profile in which one plugin has arguments."""
    return lambda plugin, **args: profile(pluginConfig=[{"name": plugin, "args": args}])


def filters_of(profile: Profile) -> list[str]:
    return [each.name for each in profile.filters if each.name != "Unsupported"]


def scores_of(profile: Profile) -> dict[str, int]:
    return {score.name: weight for score, weight in profile.scores}


# --- profiles ---


def test_a_file_that_says_nothing_gives_the_defaults(read):
    settings, without_meaning = read()
    assert without_meaning == []
    assert [p.scheduler_name for p in settings.profiles] == ["koord-scheduler"]
    assert settings.leader_election == Settings().leader_election
    assert (settings.first_backoff_s, settings.most_backoff_s) == (1, 10)


def test_the_default_profile_has_the_filters_scores_and_weights_of_kube_scheduler_and_one_more_score(profile):
    for each in (profile(), default_profile("x")):
        assert filters_of(each) == FILTERS
        assert scores_of(each) == SCORES


def test_each_profile_has_plugins_of_its_own(read):
    plain = {"schedulerName": "plain"}
    other = {"schedulerName": "other", "plugins": {"multiPoint": disabled("NodePorts")}}
    first, second = read(profiles=[plain, other])[0].profiles
    assert (first.scheduler_name, second.scheduler_name) == ("plain", "other")
    assert filters_of(first) == FILTERS
    assert filters_of(second) == [name for name in FILTERS if name != "NodePorts"]


# --- plugins ---


def test_a_plugin_disabled_everywhere_neither_filters_nor_scores(profile):
    changed = profile(plugins={"multiPoint": disabled("TaintToleration")})
    assert "TaintToleration" not in filters_of(changed)
    assert "TaintToleration" not in scores_of(changed)


def test_a_plugin_disabled_as_a_score_still_filters(profile):
    changed = profile(plugins={"score": disabled("TaintToleration")})
    assert filters_of(changed) == FILTERS
    assert list(scores_of(changed)) == [name for name in SCORES if name != "TaintToleration"]


def test_a_star_disables_everything_but_what_is_enabled_beside_it(profile):
    changed = profile(plugins={"score": disabled("*") | enabled(NodeResourcesFit=7)})
    assert filters_of(changed) == FILTERS
    assert scores_of(changed) == {"NodeResourcesFit": 7}


def test_a_star_everywhere_leaves_what_extension_points_enable(profile):
    changed = profile(plugins={"multiPoint": disabled("*"), "filter": enabled("NodeResourcesFit", "NodePorts")})
    assert filters_of(changed) == ["NodeResourcesFit", "NodePorts"]
    assert scores_of(changed) == {}


def test_nothing_switches_off_the_refusal_of_what_koordpy_does_not_support(profile):
    changed = profile(plugins={"multiPoint": disabled("*")})
    assert [each.name for each in changed.filters] == ["Unsupported"]


def test_a_weight_replaces_the_default_and_leaves_the_others(profile):
    assert scores_of(profile(plugins={"score": enabled(ImageLocality=9)})) == SCORES | {"ImageLocality": 9}
    assert scores_of(profile(plugins={"multiPoint": enabled(ImageLocality=9)})) == SCORES | {"ImageLocality": 9}


def test_the_weight_of_the_score_counts_more_than_the_one_of_everywhere(profile):
    changed = profile(plugins={"multiPoint": enabled(NodeAffinity=5), "score": enabled(NodeAffinity=8)})
    assert scores_of(changed)["NodeAffinity"] == 8


def test_a_plugin_enabled_without_a_weight_has_1_also_where_its_default_is_another(profile):
    assert scores_of(profile(plugins={"score": enabled("TaintToleration")}))["TaintToleration"] == 1
    assert scores_of(profile(plugins={"score": enabled(TaintToleration=0)}))["TaintToleration"] == 1


def test_a_plugin_enabled_everywhere_keeps_its_place(profile):
    assert filters_of(profile(plugins={"multiPoint": enabled("NodePorts")})) == FILTERS


def test_a_filter_set_anew_is_asked_before_the_others(profile):
    changed = profile(plugins={"filter": enabled("InterPodAffinity", "NodePorts")})
    others = [name for name in FILTERS if name not in ("InterPodAffinity", "NodePorts")]
    assert filters_of(changed) == ["InterPodAffinity", "NodePorts", *others]


def test_a_filter_disabled_and_enabled_again_is_asked_last(profile):
    changed = profile(plugins={"filter": disabled("NodePorts") | enabled("NodePorts")})
    assert filters_of(changed) == [*(name for name in FILTERS if name != "NodePorts"), "NodePorts"]


def test_the_filter_that_is_asked_first_gives_the_reason(profile):
    cluster = Cluster()
    cluster.upsert_node(node("n1", cpu=1, cordoned=True))
    shape = shape_on(cluster, cpu=2)
    texts = [r.text for r in fit.explain(shape, cluster, profile())]
    assert texts == ["node(s) were unschedulable"]
    changed = profile(plugins={"filter": enabled("NodeResourcesFit")})
    assert [r.text for r in fit.explain(shape, cluster, changed)] == ["Insufficient cpu"]


# --- arguments, by what they do on a small cluster ---


def shape_on(cluster: Cluster, **asks: Any) -> Shape:
    record = cluster.upsert_pod(pod("incoming", **asks))
    assert record.shape is not None
    return record.shape


def scored(profile: Profile, plugin: str, cluster: Cluster, **asks: Any) -> dict[str, int]:
    """What one score says about each node for a pod that asks for this."""
    shape = shape_on(cluster, **asks)
    rows: Ints = np.flatnonzero(cluster.nodes.live)
    (score,) = [score for score, _ in profile.scores if score.name == plugin]
    values = score.score(shape, cluster, rows).tolist()
    return {cluster.nodes.names[row]: value for row, value in zip(rows, values, strict=True)}


def accepted(profile: Profile, cluster: Cluster, **asks: Any) -> set[str]:
    rows = np.flatnonzero(fit.feasible(shape_on(cluster, **asks), cluster, profile))
    return {cluster.nodes.names[row] for row in rows}


def half_used() -> Cluster:
    """Two nodes of 4 CPU and 8Gi: `used` has a pod of 1 CPU and 2Gi, `empty` has none."""
    cluster = Cluster()
    for name in ("empty", "used"):
        cluster.upsert_node(node(name, cpu=4, memory="8Gi", nvidia__com_gpu=4))
    cluster.upsert_pod(pod("there", node="used", cpu=1, memory="2Gi", nvidia__com_gpu=1))
    return cluster


def fit_score(configured, asks: Json, **strategy: Any) -> dict[str, int]:
    return scored(configured("NodeResourcesFit", scoringStrategy=strategy), "NodeResourcesFit", half_used(), **asks)


ONE_CPU_TWO_GI = {"cpu": 1, "memory": "2Gi"}
ONE_CPU_FOUR_GI = {"cpu": 1, "memory": "4Gi"}


def test_least_allocated_is_the_share_that_stays_free(configured):
    # empty: 3 of 4 CPU and 6 of 8Gi stay free; used: 2 of 4 and 4 of 8.
    expected = {"empty": 75, "used": 50}
    assert fit_score(configured, ONE_CPU_TWO_GI) == expected
    assert fit_score(configured, ONE_CPU_TWO_GI, type="LeastAllocated") == expected


def test_most_allocated_is_the_share_that_is_taken(configured):
    assert fit_score(configured, ONE_CPU_TWO_GI, type="MostAllocated") == {"empty": 25, "used": 50}


def test_resources_count_by_their_weights(configured):
    resources = [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]
    # empty: (3 * 25 + 50) / 4 = 31; used: (3 * 50 + 75) / 4 = 56, both rounded down.
    expected = {"empty": 31, "used": 56}
    assert fit_score(configured, ONE_CPU_FOUR_GI, type="MostAllocated", resources=resources) == expected


def test_a_resource_without_a_weight_counts_once(configured):
    resources = [{"name": "cpu"}, {"name": "memory"}]
    # empty: (25 + 50) / 2 = 37; used: (50 + 75) / 2 = 62.
    expected = {"empty": 37, "used": 62}
    assert fit_score(configured, ONE_CPU_FOUR_GI, type="MostAllocated", resources=resources) == expected


def test_an_extended_resource_can_be_what_nodes_are_filled_by(configured):
    asks = {"nvidia__com_gpu": 1}
    resources = [{"name": GPU}]
    assert fit_score(configured, asks, type="MostAllocated", resources=resources) == {"empty": 25, "used": 50}


def test_an_extended_resource_that_the_pod_does_not_ask_for_does_not_count(configured):
    resources = [{"name": GPU, "weight": 5}, {"name": "cpu", "weight": 1}]
    expected = {"empty": 25, "used": 50}
    assert fit_score(configured, ONE_CPU_TWO_GI, type="MostAllocated", resources=resources) == expected


def ratio_score(configured, asks: Json, *points: tuple[int, int]) -> dict[str, int]:
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    return fit_score(configured, asks, type="RequestedToCapacityRatio", requestedToCapacityRatio={"shape": shape})


def test_a_rising_curve_packs_and_its_average_is_rounded(configured):
    # empty: 25 and 50, on average 37.5, rounded 38; used: 50 and 75, 62.5, rounded 63.
    assert ratio_score(configured, ONE_CPU_FOUR_GI, (0, 0), (100, 10)) == {"empty": 38, "used": 63}


def test_a_falling_curve_spreads(configured):
    assert ratio_score(configured, ONE_CPU_TWO_GI, (0, 10), (100, 0)) == {"empty": 75, "used": 50}


def test_a_curve_is_straight_between_its_points_and_flat_beyond_them(configured):
    # 25 lies half-way between 20 (score 20) and 30 (score 80); 50 lies beyond the last point.
    assert ratio_score(configured, ONE_CPU_TWO_GI, (20, 2), (30, 8)) == {"empty": 50, "used": 80}


def test_a_resource_at_which_the_curve_is_0_does_not_count(configured):
    # empty: CPU at 25 scores 0, memory at 50 scores 0 as well; used: CPU at 50 scores 0, memory at 75 scores 50.
    assert ratio_score(configured, ONE_CPU_FOUR_GI, (50, 0), (100, 10)) == {"empty": 0, "used": 50}


def test_balance_is_0_to_100_by_how_even_the_pod_makes_the_use(configured):
    plain, with_gpu = (
        configured("NodeResourcesBalancedAllocation"),
        configured("NodeResourcesBalancedAllocation", resources=[{"name": "cpu"}, {"name": GPU}]),
    )
    cluster = Cluster()
    cluster.upsert_node(node("n", cpu=4, memory="8Gi", nvidia__com_gpu=4))
    asks = {"cpu": 1, "memory": "2Gi", "nvidia__com_gpu": 3}
    # CPU and memory both at 1/4: as even as before, 50 + 50/2. CPU at 1/4 and GPUs at 3/4 deviate by 1/4: 25 less.
    assert scored(plain, "NodeResourcesBalancedAllocation", cluster, **asks) == {"n": 75}
    assert scored(with_gpu, "NodeResourcesBalancedAllocation", cluster, **asks) == {"n": 62}


def test_ignored_resources_are_left_to_others(configured):
    cluster = Cluster()
    cluster.upsert_node(node("n"))
    asks = {"example__com_foo": 1}
    assert accepted(configured("NodeResourcesFit"), cluster, **asks) == set()
    assert accepted(configured("NodeResourcesFit", ignoredResources=["example.com/foo"]), cluster, **asks) == {"n"}
    assert accepted(configured("NodeResourcesFit", ignoredResourceGroups=["example.com"]), cluster, **asks) == {"n"}
    assert accepted(configured("NodeResourcesFit", ignoredResources=["example.com/bar"]), cluster, **asks) == set()


def zoned() -> Cluster:
    """A node in zone a and one in zone b."""
    cluster = Cluster()
    for zone in ("a", "b"):
        cluster.upsert_node(node(f"in-{zone}", labels={ZONE: zone}))
    return cluster


def in_zone(zone: str) -> Json:
    return node_term(requirement(ZONE, "In", zone))


def requiring(zone: str) -> Json:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [in_zone(zone)]}}


def test_an_added_affinity_keeps_all_pods_of_the_profile_to_the_nodes_it_names(configured):
    only_a = configured("NodeAffinity", addedAffinity=requiring("a"))
    assert accepted(only_a, zoned()) == {"in-a"}
    assert accepted(only_a, zoned(), node_selector={ZONE: "b"}) == set()


def test_profiles_with_different_added_affinities_do_not_meet(configured):
    cluster = zoned()
    for zone in ("a", "b"):
        only_there = configured("NodeAffinity", addedAffinity=requiring(zone))
        assert accepted(only_there, cluster) == {f"in-{zone}"}
    assert accepted(configured("NodeAffinity"), cluster) == {"in-a", "in-b"}


def test_an_added_preference_draws_all_pods_of_the_profile(configured):
    wish = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": in_zone("b")}]}
    rather_b = configured("NodeAffinity", addedAffinity=wish)
    assert accepted(rather_b, zoned()) == {"in-a", "in-b"}
    assert scored(rather_b, "NodeAffinity", zoned()) == {"in-a": 0, "in-b": 100}


def beside_a_pod_that(**wants: Any) -> Cluster:
    cluster = Cluster()
    for name in ("beside", "elsewhere"):
        cluster.upsert_node(node(name))
    cluster.upsert_pod(pod("there", node="beside", affinity=affinity(**wants)))
    return cluster


WEB = pod_term("kubernetes.io/hostname", selector(app="web"))


def test_what_others_require_of_a_pod_draws_it_unless_that_weighs_nothing(configured):
    cluster, asks = beside_a_pod_that(near=[WEB]), {"labels": {"app": "web"}}
    plain = configured("InterPodAffinity")
    assert scored(plain, "InterPodAffinity", cluster, **asks) == {"beside": 100, "elsewhere": 0}
    weightless = configured("InterPodAffinity", hardPodAffinityWeight=0)
    assert scored(weightless, "InterPodAffinity", cluster, **asks) == {"beside": 0, "elsewhere": 0}


def test_what_others_prefer_can_be_ignored(configured):
    cluster, asks = beside_a_pod_that(prefer_near=[(10, WEB)]), {"labels": {"app": "web"}}
    plain = configured("InterPodAffinity")
    assert scored(plain, "InterPodAffinity", cluster, **asks) == {"beside": 100, "elsewhere": 0}
    ignoring = configured("InterPodAffinity", ignorePreferredTermsOfExistingPods=True)
    assert scored(ignoring, "InterPodAffinity", cluster, **asks) == {"beside": 0, "elsewhere": 0}


def two_zones() -> Cluster:
    """A service, and two of its pods in zone a."""
    cluster = zoned()
    cluster.set_service("default", "web", {"app": "web"})
    for name in ("one", "two"):
        cluster.upsert_pod(pod(name, node="in-a", labels={"app": "web"}))
    return cluster


def test_default_constraints_hold_for_pods_of_a_service_that_ask_for_no_spread(configured):
    asks = {"labels": {"app": "web"}}
    assert accepted(configured("PodTopologySpread"), two_zones(), **asks) == {"in-a", "in-b"}
    strict = configured("PodTopologySpread", defaultingType="List", defaultConstraints=[zone_constraint()])
    assert accepted(strict, two_zones(), **asks) == {"in-b"}
    lax = configured("PodTopologySpread", defaultingType="List", defaultConstraints=[zone_constraint(maxSkew=3)])
    assert accepted(lax, two_zones(), **asks) == {"in-a", "in-b"}


def test_an_empty_list_of_default_constraints_spreads_nothing(configured):
    asks = {"labels": {"app": "web"}}
    system = scored(configured("PodTopologySpread"), "PodTopologySpread", two_zones(), **asks)
    assert system["in-a"] < system["in-b"]
    nothing = configured("PodTopologySpread", defaultingType="List")
    assert scored(nothing, "PodTopologySpread", two_zones(), **asks) == {"in-a": 0, "in-b": 0}


def test_the_time_that_volumes_get_is_the_longest_of_all_profiles(read):
    def waiting(name: str, seconds: int) -> Json:
        config = [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": seconds}}]
        return {"schedulerName": name, "pluginConfig": config}

    assert read(profiles=[waiting("a", 30), waiting("b", 90)])[0].volume_bind_timeout_s == 90


def test_the_arguments_that_kube_scheduler_writes_out_are_understood(profile):
    version = HEAD["apiVersion"]
    takers = ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "InterPodAffinity", "PodTopologySpread")
    kinds = [*takers, "VolumeBinding", "NodeAffinity", "DefaultPreemption"]
    config = [{"name": name, "args": {"apiVersion": version, "kind": f"{name}Args"}} for name in kinds]
    assert scores_of(profile(pluginConfig=config)) == SCORES


# --- the rest of the file ---


def test_times_and_names_are_taken_over(read):
    settings, _ = read(
        podInitialBackoffSeconds=2,
        podMaxBackoffSeconds=20,
        clientConnection={"kubeconfig": "a/file"},
        leaderElection={
            "leaderElect": False,
            "leaseDuration": "1m30s",
            "renewDeadline": "60s",
            "retryPeriod": "500ms",
            "resourceName": "mine",
            "resourceNamespace": "here",
        },
    )
    assert (settings.first_backoff_s, settings.most_backoff_s, settings.kubeconfig) == (2, 20, "a/file")
    election = settings.leader_election
    assert (election.enabled, election.name, election.namespace) == (False, "mine", "here")
    timing = election.timing
    assert (timing.lease_duration_s, timing.renew_deadline_s, timing.retry_period_s) == (90, 60, 0.5)


def test_fields_without_meaning_are_listed(read):
    _, listed = read(
        parallelism=16,
        percentageOfNodesToScore=0,
        enableProfiling=True,
        enableContentionProfiling=False,
        delayCacheUntilActive=True,
        clientConnection={"acceptContentTypes": "json", "contentType": "json", "qps": 50, "burst": 100},
        profiles=[
            {
                "percentageOfNodesToScore": 10,
                "plugins": {
                    "preFilter": enabled("Whatever"),
                    "queueSort": {},
                    "multiPoint": enabled("Coscheduling"),
                    "filter": disabled("NodeName"),
                },
                "pluginConfig": [{"name": "DefaultPreemption", "args": {"minCandidateNodesPercentage": 5}}],
            }
        ],
    )
    assert sorted(listed) == [
        "clientConnection.acceptContentTypes",
        "clientConnection.burst",
        "clientConnection.contentType",
        "clientConnection.qps",
        "delayCacheUntilActive",
        "enableContentionProfiling",
        "enableProfiling",
        "parallelism",
        "percentageOfNodesToScore",
        "profiles[0].percentageOfNodesToScore",
        "profiles[0].pluginConfig of DefaultPreemption",
        "profiles[0].plugins.filter: NodeName",
        "profiles[0].plugins.preFilter",
        "profiles[0].plugins.queueSort",
    ]
