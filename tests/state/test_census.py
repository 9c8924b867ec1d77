"""The census counts what is there: for new questions, for old ones, and for those it had to forget."""

import msgspec
import numpy as np
import pytest

from koordpy.api.affinity import PodAffinityTerm
from koordpy.api.errors import MalformedValue
from koordpy.state import census as census_module
from koordpy.state.cluster import Cluster
from koordpy.state.trial import Trial
from tests.builders import node, pod, typed
from tests.plan.constraints import HOSTNAME, affinity, pod_term, requirement, selector


def term(*requirements, **labels) -> PodAffinityTerm:
    return typed(pod_term(HOSTNAME, selector(*requirements, **labels)), PodAffinityTerm)


def cluster_of(*objects):
    cluster = Cluster()
    for name in ("n1", "n2"):
        cluster.upsert_node(node(name))
    for each in objects:
        cluster.upsert_pod(each)
    return cluster


def counted(cluster, asked):
    """Pods per node that match a term, as a pod of namespace `default` means it."""
    cluster.learn_keys(asked.label_selector.match_labels)
    counts = cluster.census.pods_matching("default", (asked,)).counts
    return {name: int(counts[cluster.nodes.row_of(name)]) for name in ("n1", "n2")}


def web(name, at="", **more):
    return pod(name, node=at, labels={"app": "web"}, **more)


def test_a_new_question_counts_the_pods_that_are_there():
    cluster = cluster_of(web("a", at="n1"), web("b", at="n1"), web("c"), pod("d", node="n2", labels={"app": "db"}))
    assert counted(cluster, term(app="web")) == {"n1": 2, "n2": 0}


def test_an_old_question_follows_the_pods():
    moving = web("a")
    cluster = cluster_of(moving)
    assert counted(cluster, term(app="web")) == {"n1": 0, "n2": 0}
    cluster.assume(moving.metadata.uid, "n2")
    assert counted(cluster, term(app="web")) == {"n1": 0, "n2": 1}
    cluster.forget(moving.metadata.uid)
    assert counted(cluster, term(app="web")) == {"n1": 0, "n2": 0}


def test_a_relabelled_pod_counts_for_what_it_is_now():
    cluster = cluster_of(pod("a", node="n1", labels={"app": "web"}))
    assert counted(cluster, term(app="web"))["n1"] == 1
    uid = next(iter(cluster.pods))
    body = pod("a", node="n1", labels={"app": "db"})
    cluster.upsert_pod(_with_uid(body, uid))
    assert counted(cluster, term(app="web"))["n1"] == 0


def _with_uid(body, uid):
    return msgspec.structs.replace(body, metadata=msgspec.structs.replace(body.metadata, uid=uid))


def test_a_question_first_asked_within_a_trial_is_right_after_it():
    cluster = cluster_of(web("a"))
    cluster.learn_keys(["app"])
    shape = next(iter(cluster.pods.values())).shape
    with Trial(cluster.occupancy) as trial:
        trial.place(cluster.nodes.row_of("n1"), shape)
        assert counted(cluster, term(app="web"))["n1"] == 1
    assert counted(cluster, term(app="web"))["n1"] == 0


def test_counts_survive_the_growth_of_the_columns():
    cluster = cluster_of(web("a", at="n1"))
    counted(cluster, term(app="web"))
    for i in range(300):
        cluster.upsert_node(node(f"more{i}"))
    cluster.upsert_pod(web("b", at="more299"))
    counts = cluster.census.pods_matching("default", (term(app="web"),)).counts
    assert len(counts) == cluster.nodes.capacity
    assert int(counts.sum()) == 2


def test_the_row_of_a_node_that_left_starts_at_zero_for_the_next_one():
    cluster = cluster_of(web("a", at="n1"))
    counted(cluster, term(app="web"))
    cluster.remove_node("n1")
    cluster.upsert_node(node("n3"))
    assert not cluster.census.pods_matching("default", (term(app="web"),)).counts.any()


def test_questions_not_asked_for_long_are_forgotten_and_counted_anew(monkeypatch):
    monkeypatch.setattr(census_module, "_MOST_TALLIES", 4)
    cluster = cluster_of(*(web(f"w{i}", at="n1") for i in range(3)))
    for i in range(20):
        assert counted(cluster, term(app="web"))["n1"] == 3
        assert counted(cluster, term(app=f"number-{i}"))["n1"] == 0
        assert len(cluster.census._tallies) <= 4
    cluster.upsert_pod(web("one-more", at="n1"))
    assert counted(cluster, term(app="web"))["n1"] == 4
    assert counted(cluster, term(app="number-0"))["n1"] == 0


def test_terms_that_nobody_carries_any_more_are_forgotten(monkeypatch):
    """Each job of a batch cluster may speak about its own name: the census must not remember them all for ever."""
    monkeypatch.setattr(census_module, "_ENOUGH_TERMS", 8)
    cluster = cluster_of()
    cluster.census._most_terms = 8
    stays = web("stays", at="n1", affinity=affinity(apart=[pod_term(HOSTNAME, selector(app="db"))]))
    cluster.upsert_pod(stays)
    for i in range(100):
        job = pod(f"job{i}", node="n2", affinity=affinity(apart=[pod_term(HOSTNAME, selector(job=f"job{i}"))]))
        cluster.upsert_pod(job)
        cluster.remove_pod(job.metadata.uid)
    assert len(cluster.census._terms) <= 10
    database = cluster.upsert_pod(pod("db", labels={"app": "db"})).shape
    assert [int(t.counts.sum()) for t in cluster.census.terms_about(database)] == [1]


def test_a_forgotten_term_counts_again_when_a_pod_carries_it(monkeypatch):
    monkeypatch.setattr(census_module, "_ENOUGH_TERMS", 2)
    cluster = cluster_of()
    cluster.census._most_terms = 2
    waiting = pod("waiting", affinity=affinity(apart=[pod_term(HOSTNAME, selector(app="db"))]))
    record = cluster.upsert_pod(waiting)
    cluster.assume(record.uid, "n1")
    cluster.forget(record.uid)
    for i in range(10):  # enough for the term to be dropped while its pod waits
        other = pod(f"job{i}", node="n2", affinity=affinity(apart=[pod_term(HOSTNAME, selector(job=f"job{i}"))]))
        cluster.upsert_pod(other)
        cluster.remove_pod(other.metadata.uid)
    cluster.assume(record.uid, "n1")
    database = cluster.upsert_pod(pod("db", labels={"app": "db"})).shape
    (found,) = cluster.census.terms_about(database)
    assert np.flatnonzero(found.counts).tolist() == [cluster.nodes.row_of("n1")]


def test_a_pod_on_a_node_that_speaks_nonsense_is_counted_and_its_words_are_not():
    nonsense = selector(requirement("app", "Sometimes", "web"))
    strange = web("strange", at="n1", cpu=1, affinity=affinity(apart=[pod_term(HOSTNAME, nonsense)]))
    cluster = cluster_of(strange)
    assert counted(cluster, term(app="web"))["n1"] == 1
    newcomer = cluster.upsert_pod(web("new")).shape
    assert cluster.census.terms_about(newcomer) == []
    cluster.remove_pod(strange.metadata.uid)
    assert not cluster.nodes.requested.any()


def test_the_nonsense_of_a_pod_to_be_placed_is_named():
    nonsense = selector(requirement("app", "Sometimes", "web"))
    cluster = cluster_of()
    shape = cluster.upsert_pod(web("new", affinity=affinity(prefer_apart=[(1, pod_term(HOSTNAME, nonsense))]))).shape
    with pytest.raises(MalformedValue, match="operator of app: 'Sometimes' is none of In, NotIn"):
        cluster.census.check_terms(shape)


def test_pods_that_come_after_a_namespace_was_relabelled_are_counted_by_its_new_labels():
    cluster = cluster_of()
    asked = typed(pod_term(HOSTNAME, selector(app="web"), namespaceSelector=selector(team="a")), PodAffinityTerm)
    cluster.upsert_pod(web("early", at="n1", namespace="blue"))
    assert counted(cluster, asked)["n1"] == 0
    cluster.set_namespace("blue", {"team": "a"})
    cluster.upsert_pod(web("late", at="n1", namespace="blue"))
    assert counted(cluster, asked)["n1"] == 2


def test_a_namespace_that_stays_as_it_is_is_no_news():
    cluster = cluster_of()
    assert cluster.census.set_namespace("blue", {"team": "a"})
    assert not cluster.census.set_namespace("blue", {"team": "a"})
    assert cluster.census.set_namespace("blue", None)
    assert not cluster.census.set_namespace("blue", None)
