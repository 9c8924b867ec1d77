"""The configuration file: a `KubeSchedulerConfiguration`, read strictly.

An unknown field, a value of the wrong kind or a duplicate profile stops the start with one line that names the field
and the value: a scheduler that silently ignores half of its configuration is found out at 3 a.m. All mistakes of a file
are found at once (`koordpy config check`). Fields that are legal in kube-scheduler but have no meaning here are
accepted and listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from koordpy.api.errors import MalformedValue
from koordpy.api.strict import Misread, Mistakes, read_what_can_be_read
from koordpy.api.times import seconds_of_duration
from koordpy.app.configschema import (
    API_VERSION,
    KIND,
    ConfigFile,
    LeaderElectionPart,
    PluginSetPart,
    PluginsPart,
    ProfilePart,
)
from koordpy.app.coscheduling import PLUGIN as COSCHEDULING
from koordpy.app.coscheduling import WITHOUT_MEANING as COSCHEDULING_WITHOUT_MEANING
from koordpy.app.coscheduling import read_coscheduling
from koordpy.app.groupers import read_grouping
from koordpy.app.settings import LeaderElection, Settings
from koordpy.kube.leader import Timing
from koordpy.plan.framework.arguments import volume_bind_timeout_s
from koordpy.plan.framework.profile import Profile
from koordpy.plan.framework.profiles import ProfileSpec, build_profile
from koordpy.plan.framework.registry import WITHOUT_MEANING
from koordpy.scheduler.queues.settings import QueueSettings
from koordpy.scheduler.settings import GangSettings
from koordpy.state.gangs.spec import GangDefaults

_WITHOUT_MEANING = (
    "parallelism",
    "percentage_of_nodes_to_score",
    "enable_profiling",
    "enable_contention_profiling",
    "delay_cache_until_active",
)

_OF_GANGS = frozenset(COSCHEDULING_WITHOUT_MEANING)
_WITH_MEANING = ("multi_point", "filter", "score")  # of the extension points
_MIGRATE = "koordpy config migrate turns it into one"


class BadConfig(Exception):
    """The file cannot be used.

    Each of `mistakes` names a field and its value; `str()` is one line with the file and the first of them.
    """

    def __init__(self, path: str, *mistakes: str) -> None:
        more = len(mistakes) - 1
        rest = f" (and {more} more: koordpy config check {path})" if more else ""
        super().__init__(f"{path}: {mistakes[0]}{rest}")
        self.path, self.mistakes = path, mistakes


class _SafeLoader(yaml.SafeLoader):
    """YAML in which a key stands once; by default the last one would win without a word."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.twice: list[str] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in names:
                self.twice.append(f"{key.value}: stands there twice, again in line {key.start_mark.line + 1}")
            names.add(key.value)
        return super().construct_mapping(node, deep)


def read_settings(path: str) -> tuple[Settings, list[str]]:
    """The settings of a file, and the fields in it that are accepted without having a meaning here; or BadConfig."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise BadConfig(path, str(error.strerror)) from None
    except UnicodeDecodeError as error:
        raise BadConfig(path, f"not YAML: {error}") from None
    try:
        return settings_of(text)
    except Misread as error:
        raise BadConfig(path, *error.lines) from None


def settings_of(text: str) -> tuple[Settings, list[str]]:
    """As `read_settings`, of what stands in a file; raises Misread with every mistake."""
    mistakes = Mistakes()
    document = _loaded(text, mistakes)
    if not isinstance(document, dict):
        raise Misread(f"is not a {KIND}")
    _check_kind(document, mistakes)
    mistakes.raise_any()
    file = read_what_can_be_read(document, ConfigFile, mistakes)
    settings = _settings(file, mistakes) if file is not None else None
    mistakes.raise_any()
    assert file is not None
    assert settings is not None
    return settings, _without_meaning(file)


def _loaded(text: str, mistakes: Mistakes) -> Any:
    try:
        loader = _SafeLoader(text)
        document = loader.get_single_data()
    except yaml.YAMLError as error:
        raise Misread(f"not YAML: {' '.join(str(error).split())}") from None
    mistakes.add(*loader.twice)
    return document


def _check_kind(document: dict[Any, Any], mistakes: Mistakes) -> None:
    version, kind = document.get("apiVersion"), document.get("kind")
    old = kind == KIND and str(version).startswith("kubescheduler.config.k8s.io/v1")
    hint = f"; {_MIGRATE}" if (version != API_VERSION and old) or kind == "ConfigMap" else ""
    for field, said, wanted in (("apiVersion", version, API_VERSION), ("kind", kind, KIND)):
        if said != wanted:
            mistakes.add(f"{field}: {said!r} is not {wanted!r}{hint}")


def _settings(file: ConfigFile, mistakes: Mistakes) -> Settings:
    """With values that stand for what is wrong, which is added to the mistakes."""
    first, most = file.pod_initial_backoff_seconds, file.pod_max_backoff_seconds
    if not mistakes.about("podInitialBackoffSeconds", "podMaxBackoffSeconds"):
        with mistakes.collected():
            _check_backoffs(first, most)
    election = LeaderElection()
    if not mistakes.about("leaderElection"):  # or half of it would be compared with defaults
        election = _leader_election(file.leader_election, mistakes)
    profiles = _profiles(file.profiles, mistakes)
    gang_defaults, gangs = _gangs(file.profiles, mistakes)
    may_preempt = gangs.preemption and file.koordpy.preemption != "Never"
    return Settings(
        profiles=tuple(replace(p, preempts=p.preempts and may_preempt) for p in profiles),
        protected_namespaces=frozenset(file.koordpy.protected_namespaces),
        advice=file.koordpy.advice in (True, "On"),
        backfill=file.koordpy.backfill in (True, "On"),
        queues=QueueSettings(file.koordpy.queues.default, tuple(file.koordpy.queues.gpu_resources)),
        needing_spec=frozenset(
            profile.scheduler_name
            for profile in file.profiles
            if profile.koordpy.require_scheduling_spec or file.koordpy.require_scheduling_spec
        ),
        grouping=read_grouping(file.koordpy.pod_grouper, mistakes),
        gang_defaults=gang_defaults,
        gangs=gangs,
        leader_election=election,
        first_backoff_s=first,
        most_backoff_s=most,
        volume_bind_timeout_s=max(_volume_bind_timeouts_s(file.profiles, mistakes), default=0),
        kubeconfig=file.client_connection.kubeconfig or None,
    )


def _check_backoffs(first: int, most: int) -> None:
    if first <= 0:
        raise MalformedValue("podInitialBackoffSeconds", first, "is not positive")
    if most < first:
        raise MalformedValue("podMaxBackoffSeconds", most, f"is below podInitialBackoffSeconds, {first}")


def _profiles(profiles: list[ProfilePart], mistakes: Mistakes) -> tuple[Profile, ...]:
    names = [profile.scheduler_name for profile in profiles]
    for i, name in enumerate(names):
        if not name or name in names[:i]:
            problem = "stands there twice" if name else "is empty"
            mistakes.add(str(MalformedValue(f"profiles[{i}].schedulerName", name, problem)))
    if not profiles:
        mistakes.add(str(MalformedValue("profiles", "[]", "is empty; leave it out for the default profile")))
    built = (_profile(i, profile, mistakes) for i, profile in enumerate(profiles))
    return tuple(profile for profile in built if profile is not None)


def _profile(number: int, file: ProfilePart, mistakes: Mistakes) -> Profile | None:
    names = [config.name for config in file.plugin_config]
    for i, name in enumerate(names):
        if name in names[:i]:
            place = f"profiles[{number}].pluginConfig[{i}].name"
            mistakes.add(str(MalformedValue(place, name, "stands there twice")))
    spec = ProfileSpec(
        everywhere=file.plugins.multi_point.chosen(),
        filters=file.plugins.filter.chosen(),
        scores=file.plugins.score.chosen(),
        args={config.name: config.args for config in file.plugin_config},
    )
    with mistakes.collected(f"profiles[{number}]."):
        return replace(build_profile(file.scheduler_name, spec), preempts=file.koordpy.preemption != "Never")
    return None


def _gangs(profiles: list[ProfilePart], mistakes: Mistakes) -> tuple[GangDefaults, GangSettings]:
    """A gang may have pods of several profiles, so that they must agree about gangs."""
    found: dict[int, tuple[GangDefaults, GangSettings]] = {}
    for number, profile in enumerate(profiles):
        for config in profile.plugin_config:
            if config.name == COSCHEDULING:
                with mistakes.collected(f"profiles[{number}].pluginConfig of {COSCHEDULING}: "):
                    found[number] = read_coscheduling(config.args)
    if len(set(found.values())) > 1:
        mistakes.add(f"profiles: the pluginConfig of {COSCHEDULING} must be the same in all profiles that have one")
    return next(iter(found.values()), (GangDefaults(), GangSettings()))


def _volume_bind_timeouts_s(profiles: list[ProfilePart], mistakes: Mistakes) -> Iterator[int]:
    """Of each profile, also of one that has the filter switched off."""
    for number, profile in enumerate(profiles):
        args = next((config.args for config in profile.plugin_config if config.name == "VolumeBinding"), {})
        with mistakes.collected(f"profiles[{number}].pluginConfig of VolumeBinding: "):
            yield volume_bind_timeout_s(args)


def _leader_election(file: LeaderElectionPart, mistakes: Mistakes) -> LeaderElection:
    for field, name in (("resourceName", file.resource_name), ("resourceNamespace", file.resource_namespace)):
        if not name:
            mistakes.add(str(MalformedValue(f"leaderElection.{field}", name, "is empty")))
    if file.resource_lock != "leases":
        problem = "is not 'leases', the only lock there is"
        mistakes.add(str(MalformedValue("leaderElection.resourceLock", file.resource_lock, problem)))
    timing = Timing()
    before = mistakes.lines
    spans = {
        field: _seconds(f"leaderElection.{field}", text, mistakes)
        for field, text in (
            ("leaseDuration", file.lease_duration),
            ("renewDeadline", file.renew_deadline),
            ("retryPeriod", file.retry_period),
        )
    }
    if mistakes.lines == before:
        timing = Timing(spans["leaseDuration"], spans["renewDeadline"], spans["retryPeriod"])
    if not timing.retry_period_s < timing.renew_deadline_s < timing.lease_duration_s:  # or two could write at once
        problem = f"must lie between retryPeriod {file.retry_period} and leaseDuration {file.lease_duration}"
        mistakes.add(str(MalformedValue("leaderElection.renewDeadline", file.renew_deadline, problem)))
    return LeaderElection(file.leader_elect, file.resource_namespace, file.resource_name, timing)


def _seconds(field: str, text: str, mistakes: Mistakes) -> float:
    try:
        value = seconds_of_duration(text)
    except MalformedValue as error:
        mistakes.add(str(MalformedValue(field, text, error.problem)))
        return 0.0
    if value <= 0:
        mistakes.add(str(MalformedValue(field, text, "is not positive")))
    return value


def _without_meaning(file: ConfigFile) -> list[str]:
    fields = [_camel(name) for name in _WITHOUT_MEANING if getattr(file, name) is not None]
    names = ("accept_content_types", "content_type", "qps", "burst")
    fields += [f"clientConnection.{_camel(name)}" for name in names if getattr(file.client_connection, name)]
    for i, profile in enumerate(file.profiles):
        if profile.percentage_of_nodes_to_score is not None:
            fields.append(f"profiles[{i}].percentageOfNodesToScore")
        points = [n for n in PluginsPart.__struct_fields__ if n not in _WITH_MEANING]
        fields += [f"profiles[{i}].plugins.{_camel(n)}" for n in points if getattr(profile.plugins, n) is not None]
        fields += [f"profiles[{i}].{what}" for what in _plugins_without_meaning(profile)]
    return fields


def _plugins_without_meaning(profile: ProfilePart) -> Iterator[str]:
    for point in _WITH_MEANING:
        plugins: PluginSetPart = getattr(profile.plugins, point)
        for plugin in (*plugins.enabled, *plugins.disabled):
            if plugin.name in WITHOUT_MEANING:
                yield f"plugins.{_camel(point)}: {plugin.name}"
    for config in profile.plugin_config:
        if config.name in WITHOUT_MEANING:
            yield f"pluginConfig of {config.name}"
        if config.name == COSCHEDULING:
            yield from (f"pluginConfig of {config.name}: {field}" for field in config.args if field in _OF_GANGS)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
