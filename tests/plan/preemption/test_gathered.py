"""Preemption for jobs that are to be gathered: victims in one domain, the tightest, and nowhere else."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.api.topology import GatherRule, gather_rules
from koordpy.plan.placement.jobs import plan_job
from koordpy.plan.preemption.eligibility import Preemption, find_preemption
from koordpy.plan.preemption.search import is_whole
from koordpy.plan.topology.gather import Gathering
from koordpy.state.cluster import Cluster
from tests.plan.preemption.stage import HIGH, PROFILES, Stage
from tests.plan.trees import BLOCK, LAYERS, SPINE, labels_of, must

EIGHT = {"s1/b1": ("n1", "n2"), "s1/b2": ("n3", "n4"), "s2/b3": ("n5", "n6"), "s2/b4": ("n7", "n8")}


class Network(Stage):
    """A stage whose nodes lie under spines and blocks."""

    def __init__(self, domains: dict[str, tuple[str, ...]], cpu: int = 1) -> None:
        super().__init__()
        for path, names in domains.items():
            for name in names:
                self.node(name, cpu=cpu, labels=labels_of(path))

    def picture(self, *args, **given) -> Cluster:
        cluster = super().picture(*args, **given)
        cluster.topology.set_layers(LAYERS)
        return cluster

    def gathered(self, rules: str = "") -> Preemption | str:
        cluster = self.picture()
        return find_preemption(self.job(cluster), cluster, PROFILES, rules_of(rules))

    def nominations(self, rules: str = "") -> dict[str, str]:
        found = self.gathered(rules)
        assert isinstance(found, Preemption), found
        return {each.uid: each.node for each in found.nominations}

    def evicted(self, rules: str = "") -> list[str]:
        found = self.gathered(rules)
        assert isinstance(found, Preemption), found
        return sorted(victim.name for victim in found.victims)


def rules_of(text: str) -> tuple[GatherRule, ...]:
    return gather_rules(text) if text else (GatherRule(SPINE.lower(), must=False, multiple=1),)


def full(domains: dict[str, tuple[str, ...]] = EIGHT, **priorities: int) -> Network:
    """Every node runs one pod of its name; of priority 0 unless said otherwise."""
    here = Network(domains)
    for name in (name for names in domains.values() for name in names):
        here.runs(f"on-{name}", name, priority=priorities.get(name, 0))
    return here


def test_victims_are_all_in_one_block():
    here = full()
    here.wants_gang("a", "a-1", "a-2")
    assert here.evicted(must(BLOCK)) == ["on-n1", "on-n2"]


def test_of_equally_tight_blocks_the_one_with_the_cheapest_victims_is_cleared():
    here = full(n1=5, n2=0, n3=3, n4=3, n5=1, n6=1, n7=2, n8=0)
    here.wants_gang("a", "a-1", "a-2")
    assert here.evicted(must(BLOCK)) == ["on-n5", "on-n6"]


def test_the_tighter_spine_wins_even_over_cheaper_victims():
    here = full({"s1/b1": ("n1", "n2", "n3"), "s2/b2": ("n4", "n5")}, n4=9, n5=9)
    here.wants_gang("a", "a-1", "a-2")
    assert here.evicted(must(SPINE)) == ["on-n4", "on-n5"]


def test_a_domain_that_is_held_by_equals_is_passed_over():
    here = full(n1=HIGH, n3=HIGH, n5=HIGH)
    here.wants_gang("a", "a-1", "a-2")
    assert here.evicted(must(BLOCK)) == ["on-n7", "on-n8"]


def test_room_that_is_free_in_the_domain_is_used_before_anybody_leaves():
    here = full()
    here.pods = [pod for pod in here.pods if pod["metadata"]["name"] != "on-n6"]
    here.wants_gang("a", "a-1", "a-2")
    assert here.evicted(must(BLOCK)) == ["on-n5"]


def test_nominations_follow_the_layout_by_rank():
    here = full({"s1/b1": ("n1", "n8"), "s1/b2": ("n2", "n7"), "s2/b3": ("n3",)})
    here.wants_gang("a", "a-1", "a-2", "a-10", "a-3")
    assert here.nominations(must(SPINE)) == {"a-1": "n1", "a-2": "n8", "a-3": "n2", "a-10": "n7"}


def test_who_fits_nowhere_even_then_is_told_how_far_it_got():
    here = full(n1=HIGH, n5=HIGH)
    here.wants_gang("a", *(f"a-{i}" for i in range(1, 5)))
    assert here.gathered(must(SPINE)).startswith(
        "would fit 3 of 4 members even with everything of lower priority gone: "
    )


def test_what_is_only_preferred_may_clear_more_than_one_spine():
    here = full()
    here.wants_gang("a", *(f"a-{i}" for i in range(1, 6)))
    assert len(here.evicted()) == 5


def test_members_that_come_in_multiples_have_their_blocks_cleared_for_that():
    here = full({"s1/b1": ("n1", "n2", "n3"), "s1/b2": ("n4", "n5", "n6")}, n3=7, n4=7)
    here.wants_gang("a", "a-1", "a-2", "a-3", "a-4")
    rules = '{"gatherStrategy":[{"layer":"BlockLayer","strategy":"PreferGather","podCountMultiple":2}]}'
    nodes = sorted(here.nominations(rules).values())
    assert [len([n for n in nodes if n in block]) for block in ({"n1", "n2", "n3"}, {"n4", "n5", "n6"})] == [2, 2]
    assert here.evicted(rules) == [f"on-{name}" for name in nodes]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_on_random_networks_everybody_leaves_one_domain_the_deepest_and_none_in_vain(seed: int):
    rng = Random(seed)
    here = _random_network(rng)
    layer = rng.choice([SPINE, BLOCK])
    rules = must(layer) if rng.random() < 0.7 else ""
    found, cluster = here.gathered(rules), here.picture()
    job = here.job(cluster)
    everything = [pod["metadata"]["name"] for pod in here.pods if pod["spec"].get("priority", 0) < HIGH]
    if isinstance(found, str):
        if found.startswith("would fit"):
            without = here.picture(everything)
            assert not is_whole(plan_job(here.job(without), without, PROFILES, rules_of(rules)))
        return
    victims = {victim.name for victim in found.victims}
    assert all(victim.priority < HIGH for victim in found.victims)
    after = here.picture(victims)
    assert is_whole(plan_job(here.job(after), after, PROFILES, rules_of(rules)))
    for spared in victims if not is_whole(plan_job(job, cluster, PROFILES, rules_of(rules))) else ():
        kept = here.picture(victims - {spared})
        inside = _inside(kept, {each.node for each in found.nominations})
        only = {name: profile.only(inside) for name, profile in PROFILES.items()}
        assert not is_whole(plan_job(here.job(kept), kept, only, ())), f"{spared} could have stayed"
    empty = here.picture(everything)
    level, domains = next(iter(Gathering(here.job(empty), empty, PROFILES, rules_of(rules)).rooms()))
    used = {int(cluster.topology.levels[level].codes[cluster.nodes.row_of(each.node)]) for each in found.nominations}
    assert len(used) == 1, "spread over more than the deepest domain that could hold it"
    assert used <= set(domains), "not the tightest"
    assert {victim.node for victim in found.victims} <= {each.node for each in found.nominations}


def _random_network(rng: Random) -> Network:
    paths = ["s1/b1", "s1/b2", "s2/b3", "s2/b4", "s3/b5"][: rng.randint(1, 5)]
    here = Network({path: tuple(f"{path[-2:]}-{i}" for i in range(rng.randint(1, 3))) for path in paths}, cpu=2)
    for node in [each["metadata"]["name"] for each in here.nodes]:
        for i in range(rng.randint(0, 2)):
            here.runs(f"{node}-{i}", node, priority=rng.choice([0, 0, 1, 2, HIGH]))
    here.wants_gang("a", *(f"a-{i}" for i in range(1, rng.randint(2, 6))), cpu=rng.choice([1, 2]))
    return here


def _inside(cluster: Cluster, nodes: set[str]):
    """The nodes of the deepest domain that has all of these."""
    rows = [cluster.nodes.row_of(name) for name in nodes]
    for level in reversed(cluster.topology.levels):
        codes = {int(level.codes[row]) for row in rows}
        if len(codes) == 1:
            return level.nodes_of(codes.pop())
    raise AssertionError("the cluster has all nodes")
