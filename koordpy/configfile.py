"""The configuration file: a `KubeSchedulerConfiguration`, read strictly.

An unknown field, a value of the wrong kind or a duplicate profile stops the start with one line that names the field
and the value: a scheduler that silently ignores half of its configuration is found out at 3 a.m. Fields that are legal
in kube-scheduler but have no meaning here are accepted and listed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import yaml

from koordpy.api.errors import MalformedValue
from koordpy.api.times import seconds_of_duration
from koordpy.config import LeaderElection, Settings
from koordpy.kube.lease import Timing
from koordpy.plan.arguments import volume_bind_timeout_s
from koordpy.plan.profile import Profile
from koordpy.plan.profiles import PluginSet, Wishes, build_profile
from koordpy.plan.registry import WITHOUT_MEANING

_API_VERSION = "kubescheduler.config.k8s.io/v1"
_KIND = "KubeSchedulerConfiguration"
_WITHOUT_MEANING = (
    "parallelism",
    "percentage_of_nodes_to_score",
    "enable_profiling",
    "enable_contention_profiling",
    "delay_cache_until_active",
)


class BadConfig(Exception):
    """The file cannot be used; `str()` is one line that names the file, the field and the value."""


class _Strict(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    pass


class _LeaderElection(_Strict):
    leader_elect: bool = True
    lease_duration: str = "15s"
    renew_deadline: str = "10s"
    retry_period: str = "2s"
    resource_lock: str = "leases"
    resource_name: str = "koord-scheduler"
    resource_namespace: str = "kube-system"


class _ClientConnection(_Strict):
    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: float = 0
    burst: int = 0


class _Plugin(_Strict):
    name: str
    weight: int = 0


class _PluginSet(_Strict):
    enabled: list[_Plugin] = []
    disabled: list[_Plugin] = []

    def chosen(self) -> PluginSet:
        return PluginSet(
            enabled=tuple((plugin.name, plugin.weight) for plugin in self.enabled),
            disabled=frozenset(plugin.name for plugin in self.disabled),
        )


class _Plugins(_Strict):
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


class _PluginConfig(_Strict):
    name: str
    args: dict[str, Any] = {}


class _Profile(_Strict):
    scheduler_name: str = "koord-scheduler"
    percentage_of_nodes_to_score: int | None = None
    plugins: _Plugins = msgspec.field(default_factory=_Plugins)
    plugin_config: list[_PluginConfig] = []


class _File(_Strict):
    api_version: str
    kind: str
    leader_election: _LeaderElection = msgspec.field(default_factory=_LeaderElection)
    client_connection: _ClientConnection = msgspec.field(default_factory=_ClientConnection)
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    profiles: list[_Profile] = msgspec.field(default_factory=lambda: [_Profile()])
    parallelism: int | None = None
    percentage_of_nodes_to_score: int | None = None
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    delay_cache_until_active: bool | None = None


def read_settings(path: str) -> tuple[Settings, list[str]]:
    """The settings of a file, and the fields in it that are accepted without having a meaning here."""
    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    try:
        return _settings(_decode(document))
    except (MalformedValue, BadConfig) as error:
        raise BadConfig(f"{path}: {error}") from None


def _decode(document: object) -> _File:
    if not isinstance(document, dict):
        raise BadConfig(f"is not a {_KIND}")
    for field, wanted in (("apiVersion", _API_VERSION), ("kind", _KIND)):
        if document.get(field) != wanted:
            raise BadConfig(f"{field}: {document.get(field)!r} is not {wanted!r}")
    try:
        return msgspec.convert(document, _File)
    except msgspec.ValidationError as error:
        raise BadConfig(_readable(str(error))) from None


def _settings(file: _File) -> tuple[Settings, list[str]]:
    if not 0 <= file.pod_initial_backoff_seconds <= file.pod_max_backoff_seconds:
        raise MalformedValue(
            "podMaxBackoffSeconds",
            file.pod_max_backoff_seconds,
            "is below podInitialBackoffSeconds, or one is negative",
        )
    settings = Settings(
        profiles=_profiles(file.profiles),
        leader_election=_leader_election(file.leader_election),
        first_backoff_s=file.pod_initial_backoff_seconds,
        most_backoff_s=file.pod_max_backoff_seconds,
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
    wishes = Wishes(
        everywhere=file.plugins.multi_point.chosen(),
        filters=file.plugins.filter.chosen(),
        scores=file.plugins.score.chosen(),
        args={config.name: config.args for config in file.plugin_config},
    )
    try:
        return build_profile(file.scheduler_name, wishes)
    except MalformedValue as error:
        raise MalformedValue(f"profiles[{number}].{error.field}", error.value, error.problem) from None


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
        points = [n for n in _Plugins.__struct_fields__ if n not in ("multi_point", "filter", "score")]
        fields += [f"profiles[{i}].plugins.{_camel(n)}" for n in points if getattr(profile.plugins, n) is not None]
        fields += [
            f"profiles[{i}].pluginConfig of {c.name}" for c in profile.plugin_config if c.name in WITHOUT_MEANING
        ]
    return fields


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _readable(problem: str) -> str:
    """`Object contains unknown field `x` - at `$.profiles[0]`` becomes `profiles[0].x: unknown field`."""
    text, _, place = problem.partition(" - at `$")
    place = place.rstrip("`").lstrip(".")
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", text)
    if unknown:
        return f"{place}.{unknown[1]}: unknown field".lstrip(".")
    return f"{place}: {text}" if place else text
