"""Building profiles: kube-scheduler's defaults, changed by what a configuration enables, disables and weighs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from koordpy.api.errors import MalformedValue
from koordpy.plan.filters.unsupported import Unsupported
from koordpy.plan.profile import Profile
from koordpy.plan.registry import BUILT_IN, WITHOUT_MEANING, Plugin, third_party


@dataclass(frozen=True)
class PluginSet:
    """What is switched on (with a weight, 0 for the default) and off at one extension point; `*` is all."""

    enabled: tuple[tuple[str, int], ...] = ()
    disabled: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Wishes:
    """What a configuration says about one profile."""

    everywhere: PluginSet = PluginSet()
    filters: PluginSet = PluginSet()
    scores: PluginSet = PluginSet()
    args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def default_profile(scheduler_name: str) -> Profile:
    """kube-scheduler's defaults: same order, same weights."""
    return build_profile(scheduler_name, Wishes())


def build_profile(scheduler_name: str, wishes: Wishes) -> Profile:
    """Raises MalformedValue for a plugin that nobody knows or arguments that it does not take."""
    known = {plugin.name: plugin for plugin in (*BUILT_IN, *third_party())}
    for name in wishes.args:
        if name not in known and name not in WITHOUT_MEANING:
            raise MalformedValue("pluginConfig.name", name, _choices(known))
        if name in known and not known[name].takes_args:
            raise MalformedValue("pluginConfig.name", name, "takes no arguments")
    filters = _chosen(known, wishes.everywhere, wishes.filters)
    scores = _chosen(known, wishes.everywhere, wishes.scores)
    return Profile(
        scheduler_name,
        filters=(Unsupported(), *(_made(p, p.filter, wishes.args) for p, _ in filters if p.filter is not None)),
        scores=tuple((_made(p, p.score, wishes.args), w or p.weight) for p, w in scores if p.score is not None),
    )


def _chosen(known: dict[str, Plugin], *sets: PluginSet) -> list[tuple[Plugin, int]]:
    """Plugins in order, with the weights asked for: the defaults, minus the disabled, plus the enabled."""
    chosen: dict[str, int] = {plugin.name: 0 for plugin in BUILT_IN}
    for plugins in sets:
        for name in (*plugins.disabled - {"*"}, *(name for name, _ in plugins.enabled)):
            if name not in known and name not in WITHOUT_MEANING:
                raise MalformedValue("plugins", name, _choices(known))
        if "*" in plugins.disabled:
            chosen.clear()
        for name in plugins.disabled:
            chosen.pop(name, None)
        chosen |= {name: weight for name, weight in plugins.enabled if name in known}
    return [(known[name], weight) for name, weight in chosen.items()]


def _made(plugin: Plugin, make: Any, args: Mapping[str, Mapping[str, Any]]) -> Any:
    try:
        return make(args.get(plugin.name, {}))
    except msgspec.ValidationError as error:
        raise MalformedValue(f"pluginConfig of {plugin.name}", "args", str(error)) from None
    except MalformedValue as error:
        raise MalformedValue(f"pluginConfig of {plugin.name}: {error.field}", error.value, error.problem) from None


def _choices(known: dict[str, Plugin]) -> str:
    return f"is no plugin; there are {', '.join(sorted(known))}"
