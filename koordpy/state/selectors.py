"""Label selectors, compiled once and asked often."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from koordpy.api.errors import MalformedValue
from koordpy.api.meta import LabelSelector

Labels = Mapping[str, str]
Matches = Callable[[Labels], bool]
Hook = tuple[str, str]  # a label: key and value


def compile_selector(selector: LabelSelector | None, extra: Labels | None = None) -> Matches:
    """A function that says whether labels match; `extra` labels must match as well. None matches nothing."""
    if selector is None:
        return _nothing
    equal = {**selector.match_labels, **(extra or {})}
    tests = [_requirement(r.key, r.operator, frozenset(r.values)) for r in selector.match_expressions]

    def matches(labels: Labels) -> bool:
        for key, value in equal.items():
            if labels.get(key) != value:
                return False
        return all(test(labels) for test in tests)

    return matches


def hook_of(selector: LabelSelector | None, extra: Labels | None = None) -> Hook | None:
    """A label that everything carries that is matched, so that nobody else needs to be asked; None: there is none."""
    equal = {**(selector.match_labels if selector is not None else {}), **(extra or {})}
    return next(iter(equal.items()), None)


def keys_of(selector: LabelSelector | None) -> Iterable[str]:
    """The label keys a selector looks at."""
    if selector is not None:
        yield from selector.match_labels
        for requirement in selector.match_expressions:
            yield requirement.key


def is_empty(selector: LabelSelector | None) -> bool:
    """Without any requirement."""
    return selector is None or not (selector.match_labels or selector.match_expressions)


def _requirement(key: str, operator: str, values: frozenset[str]) -> Matches:
    match operator:
        case "In":
            return lambda labels: labels.get(key) in values
        case "NotIn":
            return lambda labels: key not in labels or labels[key] not in values
        case "Exists":
            return lambda labels: key in labels
        case "DoesNotExist":
            return lambda labels: key not in labels
        case _:
            raise MalformedValue(f"operator of {key}", operator, "is none of In, NotIn, Exists, DoesNotExist")


def _nothing(_: Labels) -> bool:
    return False
