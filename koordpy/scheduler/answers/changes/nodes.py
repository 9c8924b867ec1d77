"""Changes to nodes: cordons, labels, taints, and nodes that do not exist."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from koordpy.api.answers import AnyChange, NodeAdded, NodeLabelled, NodeUncordoned, TaintRemoved
from koordpy.api.keys import HOSTNAME
from koordpy.api.node import Taint
from koordpy.plan.framework.job import Job
from koordpy.plan.placement import fit
from koordpy.scheduler.answers.question import Question, fewest
from koordpy.state.cluster import Cluster
from koordpy.state.nodes.columns import NodeColumns

_HARD = ("NoSchedule", "NoExecute")
_MOST_NODES = 24  # of each kind of change that are tried, those with most room first
_ENOUGH = 3  # changes of a kind
_MOST_KINDS = 8  # of nodes that more are added of
_MOST_ADDED = 512
_FOR_THOSE_IN_FRONT = 16  # they may take the first ones


def node_uncordoned(question: Question) -> Iterator[AnyChange | None]:
    nodes = question.sandbox.cluster.nodes
    found = 0
    for row in _roomiest(nodes, np.flatnonzero(nodes.live & nodes.unschedulable)):
        name, taints = nodes.names[row], nodes.taint_sets[int(nodes.taint_code[row])]
        kept = tuple(taint for taint in taints if taint.key != "node.kubernetes.io/unschedulable")
        with _tainted(nodes, row, kept, unschedulable=False):
            starts = question.starts()
        if starts:
            yield NodeUncordoned(node=name, message=f"node {name} is uncordoned")
            found += 1
        if found == _ENOUGH:
            return
        yield None


def taint_removed(question: Question) -> Iterator[AnyChange | None]:
    nodes = question.sandbox.cluster.nodes
    found = 0
    for row in _roomiest(nodes, np.flatnonzero(nodes.live & (nodes.taint_code > 0))):
        name, taints = nodes.names[row], nodes.taint_sets[int(nodes.taint_code[row])]
        for taint in taints:
            if taint.effect not in _HARD or taint.key == "node.kubernetes.io/unschedulable":
                continue
            kept = tuple(each for each in taints if each != taint)
            with _tainted(nodes, row, kept, unschedulable=bool(nodes.unschedulable[row])):
                starts = question.starts()
            if starts:
                text = f"the taint {taint.key}:{taint.effect} is removed from node {name}"
                yield TaintRemoved(node=name, key=taint.key, effect=taint.effect, message=text)
                found += 1
            if found == _ENOUGH:
                return
            yield None


def node_labelled(question: Question) -> Iterator[AnyChange | None]:
    """A node gets a label that the members select."""
    job, nodes = question.job, question.sandbox.cluster.nodes
    for key, value in sorted(_wanted(job)) if job is not None else ():
        found = 0
        lacking = [row for row in np.flatnonzero(nodes.live).tolist() if nodes.labels.of(row).get(key) != value]
        for row in _roomiest(nodes, np.array(lacking, dtype=np.int64)):
            name = nodes.names[row]
            with _labelled(nodes, row, {**nodes.labels.of(row), key: value}):
                starts = question.starts()
            if starts:
                text = f"node {name} gets the label {key}={value}"
                yield NodeLabelled(node=name, key=key, value=value, message=text)
                found += 1
            if found == _ENOUGH:
                break
            yield None


def _wanted(job: Job) -> set[tuple[str, str]]:
    """Labels that members ask nodes for; of alternatives the first."""
    found: set[tuple[str, str]] = set()
    for shape in {member.shape for member in job.members if member.shape is not None}:
        traits = shape.traits
        found.update(traits.node_selector)
        required = traits.node_affinity.required if traits.node_affinity is not None else None
        for term in required.node_selector_terms if required is not None else ():
            found.update((each.key, each.values[0]) for each in term.match_expressions if each.operator == "In")
    return found


def node_added(question: Question) -> Iterator[AnyChange | None]:
    """So many more nodes of a kind that there is."""
    job, cluster = question.job, question.sandbox.cluster
    if job is None:
        return
    needed = len(question.needed(job)) or 1
    offers: list[NodeAdded] = []
    for like in _kinds(question, job):

        def works(count: int, like: str = like) -> bool:
            with added(cluster, like, count):
                return question.starts()

        for found in fewest(min(2 * needed + _FOR_THOSE_IN_FRONT, _MOST_ADDED), works):
            if found is not None:
                what = f"{found} more node{'s' if found > 1 else ''} like {like}"
                offers.append(NodeAdded(like=like, count=found, message=f"{what} {'are' if found > 1 else 'is'} added"))
            yield None
    if offers:
        yield min(offers, key=lambda offer: offer.count)


def _kinds(question: Question, job: Job) -> list[str]:
    """One node of each kind that a member could be on were it empty, by name."""
    cluster = question.sandbox.cluster
    nodes = cluster.nodes
    found: dict[tuple[object, ...], str] = {}
    profiles = question.sandbox.planning.profiles
    shapes = {(member.shape, member.scheduler): None for member in job.members if member.shape is not None}
    allowed = np.zeros(nodes.capacity, dtype=np.bool_)
    for shape, scheduler in shapes:
        assert shape is not None
        roomy = (nodes.allocatable[shape.rows] >= shape.amounts[:, None]).all(axis=0)
        allowed |= roomy & fit.static_mask(shape, cluster, profiles[scheduler])
    names = sorted((nodes.names[row], row) for row in np.flatnonzero(allowed).tolist())
    for name, row in names:
        labels = tuple(sorted(item for item in nodes.labels.of(row).items() if item[0] != HOSTNAME))
        found.setdefault((nodes.allocatable[:, row].tobytes(), labels, int(nodes.taint_code[row])), name)
    return list(found.values())[:_MOST_KINDS]


@contextmanager
def added(cluster: Cluster, like: str, count: int) -> Iterator[None]:
    """So many more nodes like one that there is, empty."""
    names = add_nodes(cluster, like, count)
    try:
        yield
    finally:
        for name in names:
            cluster.remove_node(name)


def add_nodes(cluster: Cluster, like: str, count: int) -> list[str]:
    """Nodes that do not exist get rows; their names say what they are like.

    They are names of no other node: what-if may have added some before the search for changes adds others.
    """
    nodes = cluster.nodes
    model = nodes.row_of(like)
    assert model is not None
    free = (name for number in itertools.count(1) if nodes.row_of(name := f"{like}-added-{number}") is None)
    names = list(itertools.islice(free, count))
    for name in names:
        row = nodes.open_row(name)
        cluster.census.fit(nodes.capacity)
        nodes.set_allocatable(row, dict(enumerate(nodes.allocatable[:, model].tolist())))
        labels = nodes.labels.of(model)
        nodes.set_labels(row, labels | ({HOSTNAME: name} if HOSTNAME in labels else {}))
        kept = tuple(each for each in nodes.taint_sets[int(nodes.taint_code[model])] if not _passes_by(each))
        nodes.set_taints(row, kept, unschedulable=False)
        nodes.set_images(row, dict(nodes.images[model]))
    return names


def _passes_by(taint: Taint) -> bool:
    """Kubernetes puts these on nodes in trouble, and a new node has none."""
    return taint.key.startswith("node.kubernetes.io/")


def _roomiest(nodes: NodeColumns, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[int]:
    """Of these rows those with most free CPU, then by name."""
    free = nodes.allocatable[0] - nodes.requested[0]
    return sorted(rows.tolist(), key=lambda row: (-int(free[row]), nodes.names[row]))[:_MOST_NODES]


@contextmanager
def _tainted(nodes: NodeColumns, row: int, taints: tuple[Taint, ...], *, unschedulable: bool) -> Iterator[None]:
    before = nodes.taint_sets[int(nodes.taint_code[row])], bool(nodes.unschedulable[row])
    nodes.set_taints(row, taints, unschedulable=unschedulable)
    try:
        yield
    finally:
        nodes.set_taints(row, before[0], unschedulable=before[1])


@contextmanager
def _labelled(nodes: NodeColumns, row: int, labels: dict[str, str]) -> Iterator[None]:
    before = nodes.labels.of(row)
    nodes.set_labels(row, labels)
    try:
        yield
    finally:
        nodes.set_labels(row, before)
