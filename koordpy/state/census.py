"""The census: how many pods on each node match a selector, and how many carry a term about other pods.

Inter-pod affinity and topology spread ask "how many pods like this are in that domain?" for every node at once. The
census keeps one count per node for each selector that was ever asked about, and moves it along as pods come and go (and
within trials), so that an answer is one `bincount` over the nodes and never a walk over pods.

Costs: a new selector is counted over shapes, not over pods, and mostly only over those that carry the label it asks for
(its *hook*); a pod that moves touches only the counts it matches.
"""

from __future__ import annotations

import enum
import itertools
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec
import numpy as np

from koordpy.api.affinity import PodAffinityTerm
from koordpy.api.errors import MalformedValue
from koordpy.state.arrays import Ints
from koordpy.state.selectors import Hook, compile_selector, hook_of
from koordpy.state.shapes import Shape, ShapeTable

# Selectors kept at once. One count of 5,000 nodes is 40 kB; past this many the ones not asked for longest go.
_MOST_TALLIES = 1024
# Terms kept at once, as long as pods do not really carry more: a term that names its job is carried by nobody soon.
_ENOUGH_TERMS = 1024

_pack = msgspec.msgpack.Encoder(order="deterministic").encode


@dataclass(eq=False, slots=True)
class Tally:
    """Pods per node for which a question is answered with yes."""

    counts: Ints  # [N]
    includes: Callable[[Shape], bool]
    hook: Hook | None = None  # a label that all of them carry
    asked: int = 0  # when it was last asked for, in questions


class Kind(enum.Enum):
    """What a pod can demand of, or prefer about, the pods around it."""

    REQUIRED_AFFINITY = enum.auto()
    REQUIRED_ANTI_AFFINITY = enum.auto()
    PREFERRED = enum.auto()


@dataclass(eq=False, slots=True)
class Term:
    """A term that pods on nodes carry; it may speak about the pod that is being planned."""

    kind: Kind
    topology_key: str
    weight: int  # of a preferred one; negative for anti-affinity
    matches: Callable[[Shape], bool]
    counts: Ints  # [N]: pods that carry it
    hook: Hook | None = None  # a label of all pods that it speaks about


E = TypeVar("E", Tally, Term)


@dataclass(slots=True)
class _Checked:
    """For one shape: what was found among the first `upto` entries of a list that only grows."""

    upto: int = 0
    found: list[Tally] = field(default_factory=list)
    terms: list[Term] = field(default_factory=list)


class _Index(Generic[E]):
    """Tallies or terms in the order in which they came; and for a shape, those that its labels single out."""

    def __init__(self, entries: Iterable[E] = ()) -> None:
        self.order: list[E] = []
        self._of_anybody: list[E] = []
        self._hooked: defaultdict[Hook, list[E]] = defaultdict(list)
        for entry in entries:
            self.add(entry)

    def add(self, entry: E) -> None:
        self.order.append(entry)
        (self._of_anybody if entry.hook is None else self._hooked[entry.hook]).append(entry)

    def worth_asking(self, shape: Shape, since: int) -> Iterable[E]:
        """Those that may have to do with a shape and came after the first `since` entries."""
        if since:
            return self.order[since:]
        hooked = (self._hooked[label] for label in shape.labels.items() if label in self._hooked)
        return itertools.chain(self._of_anybody, *hooked)


class Census:
    """Counts of pods by what selectors ask about them."""

    def __init__(self, shapes: ShapeTable) -> None:
        self._shapes = shapes
        self._capacity = 0
        self._tallies: dict[Hashable, Tally] = {}
        self._tally_index: _Index[Tally] = _Index()
        self._terms: dict[Hashable, Term] = {}
        self._term_index: _Index[Term] = _Index()
        self._most_terms = _ENOUGH_TERMS
        self._questions = 0
        self.epoch = 0  # raised when answers about shapes are void: tallies or terms dropped, namespaces relabelled
        self.namespace_labels: dict[str, dict[str, str]] = {}

    # --- questions ---

    def tally(self, key: Hashable, includes: Callable[[Shape], bool], hook: Hook | None = None) -> Tally:
        """The count for a question; `key` identifies it, `includes` answers it for a shape, if that has the hook."""
        self._questions += 1
        tally = self._tallies.get(key)
        if tally is None:
            if len(self._tallies) >= _MOST_TALLIES:
                self._drop_stale_tallies()
            tally = self._tallies[key] = Tally(np.zeros(self._capacity, dtype=np.int64), includes, hook)
            self._tally_index.add(tally)
            self._count(tally)
        tally.asked = self._questions
        return tally

    def pods_matching(self, namespace: str, terms: tuple[PodAffinityTerm, ...]) -> Tally:
        """Pods that match all of the terms, as a pod of this namespace means them."""
        hook = hook_of(terms[0].label_selector)
        return self.tally(("terms", namespace, _pack(terms)), self._about(namespace, terms), hook)

    def terms_about(self, shape: Shape) -> list[Term]:
        """Terms, carried by pods on nodes, that speak about pods of this shape."""
        checked = shape.remember("terms about", self.epoch, _Checked)
        asked = self._term_index.worth_asking(shape, checked.upto)
        checked.terms += [term for term in asked if term.matches(shape)]
        checked.upto = len(self._term_index.order)
        return checked.terms

    def speaks_about_itself(self, shape: Shape, terms: tuple[PodAffinityTerm, ...]) -> bool:
        """Whether a pod of this shape matches all of its own terms."""
        return self._about(shape.traits.namespace, terms)(shape)

    def check_terms(self, shape: Shape) -> None:
        """Raises MalformedValue if a pod of this shape says something about other pods that cannot be read."""
        namespace = shape.traits.namespace
        spoken = [term for _, _, term in _spoken_terms(shape)]
        shape.remember("terms are readable", 0, lambda: [self._about(namespace, (term,)) for term in spoken])

    # --- changes ---

    def move(self, row: int, shape: Shape, count: int) -> None:
        """`count` pods of a shape appeared on a node; negative when they left."""
        if len(self._terms) > self._most_terms:
            self._drop_idle_terms()
        _note(shape, row, count)
        for tally in self._including(shape):
            tally.counts[row] += count
        for term in self._carried(shape):
            term.counts[row] += count

    def move_all(self, rows: Ints, shape: Shape, counts: Ints) -> None:
        """The same on many nodes at once: rows `[C]`, each once, and counts `[C]`."""
        if len(self._terms) > self._most_terms:
            self._drop_idle_terms()
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            _note(shape, row, count)
        for tally in self._including(shape):
            tally.counts[rows] += counts
        for term in self._carried(shape):
            term.counts[rows] += counts

    def move_count(self, shape: Shape, counts: Mapping[int, int], sign: int) -> None:
        """The same by row; nobody asks about most shapes, and then nothing but their places is noted."""
        if len(self._terms) > self._most_terms:
            self._drop_idle_terms()
        for row, count in counts.items():
            _note(shape, row, sign * count)
        moved = [tally.counts for tally in self._including(shape)] + [term.counts for term in self._carried(shape)]
        for each in moved:
            for row, count in counts.items():
                each[row] += sign * count

    def clear(self) -> None:
        """No pod is anywhere; questions are counted again when they are asked."""
        for shape in self._shapes:
            shape.on_nodes.clear()
        self._tallies, self._tally_index = {}, _Index()
        self._terms, self._term_index = {}, _Index()
        self.epoch += 1

    def fit(self, capacity: int) -> None:
        """The node columns have grown."""
        more = capacity - self._capacity
        if more > 0:
            self._capacity = capacity
            for tally in self._tally_index.order:
                tally.counts = np.pad(tally.counts, (0, more))
            for term in self._term_index.order:
                term.counts = np.pad(term.counts, (0, more))

    def set_namespace(self, name: str, labels: dict[str, str] | None) -> bool:
        """A namespace appeared, was relabelled or left (None); says whether anything changed."""
        if self.namespace_labels.get(name) == labels:
            return False
        if labels is None:
            del self.namespace_labels[name]
        else:
            self.namespace_labels[name] = labels
        self._recount()
        return True

    # --- bookkeeping ---

    def _including(self, shape: Shape) -> list[Tally]:
        checked = shape.remember("included in", self.epoch, _Checked)
        asked = self._tally_index.worth_asking(shape, checked.upto)
        checked.found += [tally for tally in asked if tally.includes(shape)]
        checked.upto = len(self._tally_index.order)
        return checked.found

    def _carried(self, shape: Shape) -> list[Term]:
        spoken = _spoken_terms(shape)
        namespace = shape.traits.namespace
        return shape.remember("carries", self.epoch, lambda: [self._term(*each, namespace) for each in spoken])

    def _term(self, kind: Kind, weight: int, term: PodAffinityTerm, namespace: str) -> Term:
        key = (kind, weight, namespace, _pack(term))
        known = self._terms.get(key)
        if known is None:
            try:
                matches = self._about(namespace, (term,))
            except MalformedValue:
                matches = _nobody  # somebody else placed this pod; what it says in vain must not stop the counting
            counts = np.zeros(self._capacity, dtype=np.int64)
            hook = hook_of(term.label_selector)
            known = self._terms[key] = Term(kind, term.topology_key, weight, matches, counts, hook)
            self._term_index.add(known)
        return known

    def _about(self, namespace: str, terms: tuple[PodAffinityTerm, ...]) -> Callable[[Shape], bool]:
        tests = [(self._in_namespaces(term, namespace), compile_selector(term.label_selector)) for term in terms]
        return lambda shape: all(place(shape.traits.namespace) and labels(shape.labels) for place, labels in tests)

    def _in_namespaces(self, term: PodAffinityTerm, own: str) -> Callable[[str], bool]:
        names = frozenset(term.namespaces)
        if term.namespace_selector is None:
            names = names or frozenset((own,))
            return lambda namespace: namespace in names
        selects = compile_selector(term.namespace_selector)
        return lambda namespace: namespace in names or selects(self.namespace_labels.get(namespace, {}))

    def _count(self, tally: Tally) -> None:
        for shape in self._shapes if tally.hook is None else self._shapes.carrying(tally.hook):
            if shape.on_nodes and tally.includes(shape):
                for row, pods in shape.on_nodes.items():
                    tally.counts[row] += pods

    def _recount(self) -> None:
        self.epoch += 1
        for tally in self._tally_index.order:
            tally.counts[:] = 0
            self._count(tally)

    def _drop_stale_tallies(self) -> None:
        keep = sorted(self._tallies.items(), key=lambda item: item[1].asked)[_MOST_TALLIES // 2 :]
        self._tallies = dict(keep)
        self._tally_index = _Index(tally for _, tally in keep)
        self.epoch += 1

    def _drop_idle_terms(self) -> None:
        """Forget the terms that no pod on a node carries; one that comes back starts at zero, which is where it was."""
        self._terms = {key: term for key, term in self._terms.items() if term.counts.any()}
        self._term_index = _Index(self._terms.values())
        self._most_terms = max(_ENOUGH_TERMS, 2 * len(self._terms))
        self.epoch += 1


def _spoken_terms(shape: Shape) -> Iterator[tuple[Kind, int, PodAffinityTerm]]:
    """What pods of a shape say about other pods: the kind, the weight and the term."""
    near, apart = shape.traits.pod_affinity, shape.traits.pod_anti_affinity
    if near is not None:
        yield from ((Kind.REQUIRED_AFFINITY, 0, required) for required in near.required)
        yield from ((Kind.PREFERRED, wish.weight, wish.pod_affinity_term) for wish in near.preferred)
    if apart is not None:
        yield from ((Kind.REQUIRED_ANTI_AFFINITY, 0, required) for required in apart.required)
        yield from ((Kind.PREFERRED, -wish.weight, wish.pod_affinity_term) for wish in apart.preferred)


def _note(shape: Shape, row: int, count: int) -> None:
    here = shape.on_nodes.get(row, 0) + count
    if here:
        shape.on_nodes[row] = here
    else:
        shape.on_nodes.pop(row, None)


def _nobody(_: Shape) -> bool:
    return False
