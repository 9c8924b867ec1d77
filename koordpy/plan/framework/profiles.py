"""Builds profiles: kube-scheduler's default plugins, changed by those that a configuration enables and disables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from koordpy.api.errors import MalformedValue
from koordpy.api.strict import Misread, Mistakes
from koordpy.plan.filters.unsupported import Unsupported
from koordpy.plan.framework.plugins import Filter, Score
from koordpy.plan.framework.profile import Profile
from koordpy.plan.framework.registry import BUILT_IN, OUR_OWN, WITHOUT_MEANING, Args, Plugin, third_party

T = TypeVar("T", Filter, Score)

_MOST_WEIGHT = 2**31 - 1  # the API's own; so many scores of 100 still add up in 64 bits


@dataclass(frozen=True)
class PluginSet:
    """Plugins enabled (with a weight, 0 when none is given) and disabled at one extension point; `*` means all."""

    enabled: tuple[tuple[str, int], ...] = ()
    disabled: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProfileSpec:
    """The configuration of one profile."""

    everywhere: PluginSet = PluginSet()
    filters: PluginSet = PluginSet()
    scores: PluginSet = PluginSet()
    args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def default_profile(scheduler_name: str) -> Profile:
    """The profile with kube-scheduler's default plugins, in its order and with its weights."""
    return build_profile(scheduler_name, ProfileSpec())


def build_profile(scheduler_name: str, spec: ProfileSpec) -> Profile:
    """Raises Misread, with every mistake, for unknown plugins and for arguments that a plugin does not take."""
    others = third_party()
    known = {plugin.name: plugin for plugin in (*others, *BUILT_IN)}
    mistakes = Mistakes()
    for check in (
        _check_names(others, spec),
        _check_args(known, spec.args),
        _check(known, "plugins.multiPoint", spec.everywhere, lambda _: True),
        _check(known, "plugins.filter", spec.filters, lambda plugin: plugin.filter is not None),
        _check(known, "plugins.score", spec.scores, lambda plugin: plugin.score is not None),
    ):
        mistakes.add(*map(str, check))
    filters: list[Filter] = [Unsupported()]
    for plugin, _ in _chosen(known, spec.everywhere, spec.filters):
        if plugin.filter is not None:
            with mistakes.collected():
                filters.append(_made(plugin, plugin.filter, spec.args, Filter))
    scores: list[tuple[Score, int]] = []
    for plugin, weight in _chosen(known, spec.everywhere, spec.scores):
        if plugin.score is not None:
            with mistakes.collected():
                scores.append((_made(plugin, plugin.score, spec.args, Score), weight))
    mistakes.raise_any()
    return Profile(scheduler_name, filters=tuple(filters), scores=tuple(scores))


def _chosen(known: dict[str, Plugin], everywhere: PluginSet, here: PluginSet) -> list[tuple[Plugin, int]]:
    """Plugins with their weights, in kube-scheduler's order.

    First the plugins of `multiPoint` that this extension point overrides, then the others of `multiPoint`, then those
    that only this extension point enables. A plugin enabled without a weight has weight 1, whatever its default.
    """
    general = {} if "*" in everywhere.disabled else {p.name: p.weight for p in BUILT_IN}
    general = _without(general, everywhere) | _enabled(known, everywhere)
    general = {} if "*" in here.disabled else _without(general, here)
    own = _enabled(known, here)
    overridden = {name: weight for name, weight in own.items() if name in general}
    ordered = overridden | {name: weight for name, weight in general.items() if name not in own} | own
    return [(known[name], weight) for name, weight in ordered.items()]


def _without(weights: dict[str, int], plugins: PluginSet) -> dict[str, int]:
    return {name: weight for name, weight in weights.items() if name not in plugins.disabled}


def _enabled(known: dict[str, Plugin], plugins: PluginSet) -> dict[str, int]:
    return {name: weight or 1 for name, weight in plugins.enabled if name in known}


def _made(plugin: Plugin, make: Callable[[Args], object], args: Mapping[str, Args], kind: type[T]) -> T:
    try:
        made = make(args.get(plugin.name, {}))
    except Misread as error:
        raise Misread(*(f"pluginConfig of {plugin.name}: {line}" for line in error.lines)) from error
    except (ValueError, TypeError, ImportError, AttributeError) as error:  # also a third party's way to refuse
        raise Misread(f"pluginConfig of {plugin.name}: {' '.join(str(error).split())}") from error
    if not isinstance(made, kind):
        raise Misread(
            f"plugins: {plugin.name} gave a {type(made).__name__}, which is no koordpy.plugin.{kind.__name__}"
        )
    return made


# --- validation ---


def _check_names(others: tuple[Plugin, ...], spec: ProfileSpec) -> Iterator[MalformedValue]:
    """Refuse a name that both koordpy and another package have: the user may mean either plugin."""
    ambiguous = {plugin.name for plugin in BUILT_IN} & {plugin.name for plugin in others}
    for plugins in (spec.everywhere, spec.filters, spec.scores):
        for name, _ in plugins.enabled:
            if name in ambiguous:
                yield MalformedValue("plugins", name, "is offered by koordpy and by another package; rename the other")


def _check_args(known: dict[str, Plugin], args: Mapping[str, Mapping[str, Any]]) -> Iterator[MalformedValue]:
    for name, given in args.items():
        if name not in known and name not in WITHOUT_MEANING | OUR_OWN:
            yield MalformedValue("pluginConfig.name", name, _choices(known))
        # kube-scheduler's --write-config-to writes a kind for every plugin, also for those without arguments.
        if name in known and not known[name].takes_args and given.keys() - {"apiVersion", "kind"}:
            yield MalformedValue("pluginConfig.name", name, "takes no arguments")


def _check(
    known: dict[str, Plugin], place: str, plugins: PluginSet, fits: Callable[[Plugin], bool]
) -> Iterator[MalformedValue]:
    names = [name for name, _ in plugins.enabled]
    for field_, name in _named(place, plugins):
        if name not in known and name not in WITHOUT_MEANING | OUR_OWN and not (name == "*" and name not in names):
            yield MalformedValue(field_, name, _choices(known))
    for i, (name, weight) in enumerate(plugins.enabled):
        if name in names[:i]:
            yield MalformedValue(f"{place}.enabled[{i}].name", name, "stands there twice")
        if name in known and not fits(known[name]):
            yield MalformedValue(f"{place}.enabled[{i}].name", name, f"has no {place.rpartition('.')[2]}")
        if not 0 <= weight <= _MOST_WEIGHT:
            yield MalformedValue(f"{place}.enabled[{i}].weight", weight, f"is not between 0 and {_MOST_WEIGHT}")


def _named(place: str, plugins: PluginSet) -> Iterator[tuple[str, str]]:
    for i, (name, _) in enumerate(plugins.enabled):
        yield f"{place}.enabled[{i}].name", name
    for i, name in enumerate(plugins.disabled):
        yield f"{place}.disabled[{i}].name", name


def _choices(known: dict[str, Plugin]) -> str:
    return f"is no plugin; there are {', '.join(sorted(known))}"
