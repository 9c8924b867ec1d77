"""The configuration file: a `KubeSchedulerConfiguration`, read strictly.

An unknown field, a value of the wrong kind or a duplicate profile stops the start with one line that names the field
and the value: a scheduler that silently ignores half of its configuration is found out at 3 a.m. Fields that are legal
in kube-scheduler but have no meaning here are accepted and listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from koordpy.api.errors import MalformedValue
from koordpy.api.strict import Misread, Strict, read_strictly
from koordpy.api.times import seconds_of_duration
from koordpy.app.coscheduling import PLUGIN as COSCHEDULING
from koordpy.app.coscheduling import WITHOUT_MEANING as COSCHEDULING_WITHOUT_MEANING
from koordpy.app.coscheduling import read_coscheduling
from koordpy.app.settings import LeaderElection, Settings
from koordpy.kube.leader import Timing
from koordpy.plan.framework.arguments import volume_bind_timeout_s
from koordpy.plan.framework.profile import Profile
from koordpy.plan.framework.profiles import PluginSet, ProfileSpec, build_profile
from koordpy.plan.framework.registry import WITHOUT_MEANING
from koordpy.scheduler.settings import GangSettings
from koordpy.state.gangs.spec import GangDefaults

_API_VERSION = "kubescheduler.config.k8s.io/v1"
_KIND = "KubeSchedulerConfiguration"
_WITHOUT_MEANING = (
    "parallelism",
    "percentage_of_nodes_to_score",
    "enable_profiling",
    "enable_contention_profiling",
    "delay_cache_until_active",
)

_OF_GANGS = frozenset(COSCHEDULING_WITHOUT_MEANING)
_WITH_MEANING = ("multi_point", "filter", "score")  # of the extension points


class BadConfig(Exception):
    """The file cannot be used; `str()` is one line that names the file, the field and the value."""


class _LeaderElection(Strict):
    leader_elect: bool = True
    lease_duration: str = "15s"
    renew_deadline: str = "10s"
    retry_period: str = "2s"
    resource_lock: str = "leases"
    resource_name: str = "koord-scheduler"
    resource_namespace: str = "kube-system"


class _ClientConnection(Strict):
    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: float = 0
    burst: int = 0


class _Plugin(Strict):
    name: str
    weight: int = 0


class _PluginSet(Strict):
    enabled: list[_Plugin] = []
    disabled: list[_Plugin] = []

    def chosen(self) -> PluginSet:
        return PluginSet(
            enabled=tuple((plugin.name, plugin.weight) for plugin in self.enabled),
            disabled=tuple(plugin.name for plugin in self.disabled),
        )


class _Plugins(Strict):
    multi_point: _PluginSet = msgspec.field(default_factory=_PluginSet)
    filter: _PluginSet = msgspec.field(default_factory=_PluginSet)
    score: _PluginSet = msgspec.field(default_factory=_PluginSet)
    pre_enqueue: _PluginSet | None = None
    queue_sort: _PluginSet | None = None
    pre_filter: _PluginSet | None = None
    post_filter: _PluginSet | None = None
    pre_score: _PluginSet | None = None
    reserve: _PluginSet | None = None
    permit: _PluginSet | None = None
    pre_bind: _PluginSet | None = None
    bind: _PluginSet | None = None
    post_bind: _PluginSet | None = None


class _PluginConfig(Strict):
    name: str
    args: dict[str, Any] = {}


class _OfAProfile(Strict):
    """What koordpy adds, under a key of its own."""

    preemption: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"


class _OfAll(_OfAProfile):
    protected_namespaces: list[str] = []


class _Profile(Strict):
    scheduler_name: str = "koord-scheduler"
    koordpy: _OfAProfile = msgspec.field(default_factory=_OfAProfile)
    percentage_of_nodes_to_score: int | None = None
    plugins: _Plugins = msgspec.field(default_factory=_Plugins)
    plugin_config: list[_PluginConfig] = []


class _File(Strict):
    api_version: str
    kind: str
    leader_election: _LeaderElection = msgspec.field(default_factory=_LeaderElection)
    client_connection: _ClientConnection = msgspec.field(default_factory=_ClientConnection)
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    profiles: list[_Profile] = msgspec.field(default_factory=lambda: [_Profile()])
    koordpy: _OfAll = msgspec.field(default_factory=_OfAll)
    parallelism: int | None = None
    percentage_of_nodes_to_score: int | None = None
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    delay_cache_until_active: bool | None = None


class _SafeLoader(yaml.SafeLoader):
    """YAML in which a key stands once; by default the last one would win without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in names:
                raise Misread(f"{key.value}: stands there twice, again in line {key.start_mark.line + 1}")
            names.add(key.value)
        return super().construct_mapping(node, deep)


def read_settings(path: str) -> tuple[Settings, list[str]]:
    """The settings of a file, and the fields in it that are accepted without having a meaning here."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        document = yaml.load(text, Loader=_SafeLoader)  # noqa: S506 - as safe as the one it is derived from
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    except Misread as error:
        raise BadConfig(f"{path}: {error}") from None
    try:
        return _settings(_decode(document))
    except (MalformedValue, Misread, BadConfig) as error:
        raise BadConfig(f"{path}: {error}") from None


def _decode(document: object) -> _File:
    if not isinstance(document, dict):
        raise BadConfig(f"is not a {_KIND}")
    for field, wanted in (("apiVersion", _API_VERSION), ("kind", _KIND)):
        if document.get(field) != wanted:
            raise BadConfig(f"{field}: {document.get(field)!r} is not {wanted!r}")
    return read_strictly(document, _File)


def _settings(file: _File) -> tuple[Settings, list[str]]:
    first, most = file.pod_initial_backoff_seconds, file.pod_max_backoff_seconds
    if first <= 0:
        raise MalformedValue("podInitialBackoffSeconds", first, "is not positive")
    if most < first:
        raise MalformedValue("podMaxBackoffSeconds", most, f"is below podInitialBackoffSeconds, {first}")
    gang_defaults, gangs = _gangs(file.profiles)
    may_preempt = gangs.preemption and file.koordpy.preemption != "Never"
    settings = Settings(
        profiles=tuple(replace(p, preempts=p.preempts and may_preempt) for p in _profiles(file.profiles)),
        protected_namespaces=frozenset(file.koordpy.protected_namespaces),
        gang_defaults=gang_defaults,
        gangs=gangs,
        leader_election=_leader_election(file.leader_election),
        first_backoff_s=first,
        most_backoff_s=most,
        volume_bind_timeout_s=max(_volume_bind_timeout_s(profile) for profile in file.profiles),
        kubeconfig=file.client_connection.kubeconfig or None,
    )
    return settings, _without_meaning(file)


def _profiles(profiles: list[_Profile]) -> tuple[Profile, ...]:
    names = [profile.scheduler_name for profile in profiles]
    for i, name in enumerate(names):
        if not name or name in names[:i]:
            problem = "stands there twice" if name else "is empty"
            raise MalformedValue(f"profiles[{i}].schedulerName", name, problem)
    if not profiles:
        raise MalformedValue("profiles", "[]", "is empty; leave it out for the default profile")
    return tuple(_profile(i, profile) for i, profile in enumerate(profiles))


def _profile(number: int, file: _Profile) -> Profile:
    names = [config.name for config in file.plugin_config]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise MalformedValue(f"profiles[{number}].pluginConfig[{i}].name", name, "stands there twice")
    spec = ProfileSpec(
        everywhere=file.plugins.multi_point.chosen(),
        filters=file.plugins.filter.chosen(),
        scores=file.plugins.score.chosen(),
        args={config.name: config.args for config in file.plugin_config},
    )
    try:
        profile = build_profile(file.scheduler_name, spec)
    except (MalformedValue, Misread) as error:
        raise BadConfig(f"profiles[{number}].{error}") from None
    return replace(profile, preempts=file.koordpy.preemption != "Never")


def _gangs(profiles: list[_Profile]) -> tuple[GangDefaults, GangSettings]:
    """A gang may have pods of several profiles, so that they must agree about gangs."""
    found: dict[int, tuple[GangDefaults, GangSettings]] = {}
    for number, profile in enumerate(profiles):
        for config in profile.plugin_config:
            if config.name == COSCHEDULING:
                try:
                    found[number] = read_coscheduling(config.args)
                except (MalformedValue, Misread) as error:
                    raise BadConfig(f"profiles[{number}].pluginConfig of {COSCHEDULING}: {error}") from None
    if len(set(found.values())) > 1:
        raise BadConfig(f"profiles: the pluginConfig of {COSCHEDULING} must be the same in all profiles that have one")
    return next(iter(found.values()), (GangDefaults(), GangSettings()))


def _volume_bind_timeout_s(profile: _Profile) -> int:
    return volume_bind_timeout_s(next((c.args for c in profile.plugin_config if c.name == "VolumeBinding"), {}))


def _leader_election(file: _LeaderElection) -> LeaderElection:
    def seconds(field: str, text: str) -> float:
        try:
            value = seconds_of_duration(text)
        except MalformedValue as error:
            raise MalformedValue(f"leaderElection.{field}", text, error.problem) from None
        if value <= 0:
            raise MalformedValue(f"leaderElection.{field}", text, "is not positive")
        return value

    for field, name in (("resourceName", file.resource_name), ("resourceNamespace", file.resource_namespace)):
        if not name:
            raise MalformedValue(f"leaderElection.{field}", name, "is empty")
    if file.resource_lock != "leases":
        raise MalformedValue(
            "leaderElection.resourceLock", file.resource_lock, "is not 'leases', the only lock there is"
        )
    timing = Timing(
        lease_duration_s=seconds("leaseDuration", file.lease_duration),
        renew_deadline_s=seconds("renewDeadline", file.renew_deadline),
        retry_period_s=seconds("retryPeriod", file.retry_period),
    )
    if (
        not timing.retry_period_s < timing.renew_deadline_s < timing.lease_duration_s
    ):  # or two leaders could write at once
        raise MalformedValue(
            "leaderElection.renewDeadline",
            file.renew_deadline,
            f"must lie between retryPeriod {file.retry_period} and leaseDuration {file.lease_duration}",
        )
    return LeaderElection(file.leader_elect, file.resource_namespace, file.resource_name, timing)


def _without_meaning(file: _File) -> list[str]:
    fields = [_camel(name) for name in _WITHOUT_MEANING if getattr(file, name) is not None]
    names = ("accept_content_types", "content_type", "qps", "burst")
    fields += [f"clientConnection.{_camel(name)}" for name in names if getattr(file.client_connection, name)]
    for i, profile in enumerate(file.profiles):
        if profile.percentage_of_nodes_to_score is not None:
            fields.append(f"profiles[{i}].percentageOfNodesToScore")
        points = [n for n in _Plugins.__struct_fields__ if n not in _WITH_MEANING]
        fields += [f"profiles[{i}].plugins.{_camel(n)}" for n in points if getattr(profile.plugins, n) is not None]
        fields += [f"profiles[{i}].{what}" for what in _plugins_without_meaning(profile)]
    return fields


def _plugins_without_meaning(profile: _Profile) -> Iterator[str]:
    for point in _WITH_MEANING:
        plugins: _PluginSet = getattr(profile.plugins, point)
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
