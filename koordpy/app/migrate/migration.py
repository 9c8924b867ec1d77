"""Migrates a configuration of another scheduler: fields that koordpy has are kept, all others are dropped with a note.

The result passes `koordpy config check`; otherwise there is none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import yaml

from koordpy.api.strict import Misread
from koordpy.app.configfile import settings_of
from koordpy.app.configschema import API_VERSION, KIND
from koordpy.app.coscheduling import PLUGIN as COSCHEDULING
from koordpy.app.coscheduling import WITHOUT_MEANING as COSCHEDULING_WITHOUT_MEANING
from koordpy.app.migrate import reasons
from koordpy.app.migrate.sources import configuration_in
from koordpy.plan.framework.registry import BUILT_IN, third_party

Json = dict[str, Any]

_WITHOUT_MEANING = {
    "parallelism": "koordpy plans in one thread",
    "percentageOfNodesToScore": "koordpy looks at every node",
    "enableProfiling": "koordpy serves no profiles",
    "enableContentionProfiling": "koordpy serves no profiles",
    "delayCacheUntilActive": "a standby of koordpy always watches",
}
_POINTS = ("multiPoint", "filter", "score")  # of the extension points, those that koordpy has
_KUBE_SCHEDULERS = "default-scheduler"
_UNKNOWN = re.compile(
    r"(?:profiles\[(?P<profile>\d+)\]\.pluginConfig of (?P<plugin>[^:]+): )?(?P<path>.+): unknown field"
)
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


class Migrated(NamedTuple):
    """A configuration for koordpy, and what is different about it."""

    text: str
    notes: tuple[str, ...]


def migrate(text: str) -> Migrated:
    """Raises Misread, with every mistake, if there is no configuration in it or one that cannot be made to work."""
    source = configuration_in(text)
    migration = _Migration(source)
    migration.run()
    return Migrated(yaml.safe_dump(migration.result, sort_keys=False), tuple(migration.notes))


class _Migration:
    """`result` is the configuration so far."""

    def __init__(self, source: Json) -> None:
        self.notes: list[str] = []
        self.result: Json = {"apiVersion": API_VERSION, "kind": KIND}
        self._source = deepcopy(source)
        self._known = {plugin.name: plugin for plugin in (*BUILT_IN, *third_party())}

    def run(self) -> None:
        source = self._source
        version, _ = source.pop("apiVersion"), source.pop("kind")
        self._note_version(version)
        profiles = _objects(source.pop("profiles", None) or [{}], "profiles")
        for field, reason in _WITHOUT_MEANING.items():
            if source.pop(field, None) is not None:
                self._dropped(field, reason)
        self._leader_election(source)
        self._client_connection(source)
        self.result |= source
        self.result["profiles"] = [self._profile(i, profile) for i, profile in enumerate(profiles)]
        self._drop_unknown()

    def _note_version(self, version: str) -> None:
        if version != API_VERSION:
            self.notes.append(f"apiVersion: {version.rpartition('/')[2]} is v1 now")
        if version.endswith("v1beta2"):
            self.notes.append(
                "the default weights are those of v1, TaintToleration 3, NodeAffinity 2, InterPodAffinity 2: each was 1"
            )

    def _dropped(self, what: str, why: str) -> None:
        self.notes.append(f"{what}: dropped: {why}")

    # --- beside the profiles ---

    def _leader_election(self, source: Json) -> None:
        election = source.get("leaderElection")
        if not isinstance(election, dict):
            return
        lock = election.get("resourceLock", "leases")
        if lock in ("endpointsleases", "configmapsleases"):
            election["resourceLock"] = "leases"
            self.notes.append(f"leaderElection.resourceLock: {lock} is leases now")
        if election.get("resourceName") == "kube-scheduler":
            del election["resourceName"]
            self._dropped("leaderElection.resourceName: kube-scheduler", "that lease is kube-scheduler's own")
        namespace = election.get("resourceNamespace", "kube-system")
        if namespace != "kube-system":
            self.notes.append(
                f"leaderElection.resourceNamespace: {namespace}: kept, so that koordpy and the scheduler that this "
                "comes from never lead both; the Role for leases has to be in that namespace, where the chart puts it"
            )

    def _client_connection(self, source: Json) -> None:
        connection = source.get("clientConnection")
        if not isinstance(connection, dict):
            return
        if str(connection.get("kubeconfig", "")).startswith("REPLACE_ME"):
            self._dropped(f"clientConnection.kubeconfig: {connection.pop('kubeconfig')}", "it is no file")
        for field in ("acceptContentTypes", "contentType", "qps", "burst"):
            if field in connection:
                del connection[field]
                self._dropped(f"clientConnection.{field}", "koordpy has no such limits")
        if not connection:
            del source["clientConnection"]

    # --- profiles ---

    def _profile(self, number: int, source: Json) -> Json:
        name = source.get("schedulerName") or _KUBE_SCHEDULERS
        if name == _KUBE_SCHEDULERS:
            self.notes.append(
                f"profiles[{number}].schedulerName: {name}: kube-scheduler takes the same pods; stop it, or choose "
                "another name"
            )
        (plugins,) = _objects([source.get("plugins") or {}], f"profiles[{number}].plugins")
        configs = _objects(source.get("pluginConfig") or [], f"profiles[{number}].pluginConfig")
        _objects([config.get("args") or {} for config in configs], f"profiles[{number}].pluginConfig: args")
        self._note_plugins(number, plugins, configs)
        profile: Json = {"schedulerName": name}
        if kept := {point: found for point in _POINTS if (found := self._plugin_set(plugins.get(point)))}:
            profile["plugins"] = kept
        if args := [each for config in configs if (each := self._plugin_config(number, config, plugins))]:
            profile["pluginConfig"] = args
        if not _preempts(plugins, configs):
            profile["koordpy"] = {"preemption": "Never"}
            self.notes.append(f"profiles[{number}]: nobody preempts there, so that koordpy does not: preemption: Never")
        if source.get("percentageOfNodesToScore") is not None:
            self._dropped(f"profiles[{number}].percentageOfNodesToScore", _WITHOUT_MEANING["percentageOfNodesToScore"])
        known = {"schedulerName", "plugins", "pluginConfig", "percentageOfNodesToScore"}
        return profile | {key: value for key, value in source.items() if key not in known}

    def _plugin_set(self, source: Any) -> Json:
        """What of one extension point is koordpy's; `*` means all, there as here."""
        enabled = [each for each in _listed(source, "enabled") if each["name"] in self._known]
        disabled = [each for each in _listed(source, "disabled") if each["name"] in self._known or each["name"] == "*"]
        return {key: found for key, found in (("enabled", enabled), ("disabled", disabled)) if found}

    def _plugin_config(self, number: int, config: Json, plugins: Json) -> Json | None:
        name, args = config.get("name"), dict(config.get("args") or {})
        if name not in self._known and name != COSCHEDULING:
            return None
        for field in ("apiVersion", "kind"):  # of another version, and of no use
            args.pop(field, None)
        if name == COSCHEDULING:
            self._coscheduling(number, args, plugins)
        return {"name": name, "args": args} if args else None

    def _coscheduling(self, number: int, args: Json, plugins: Json) -> None:
        place = f"profiles[{number}].pluginConfig of {COSCHEDULING}"
        for field in COSCHEDULING_WITHOUT_MEANING:
            if args.pop(field, None) is not None:
                self._dropped(f"{place}: {field}", "planning a whole gang at once needs no such help")
        if args.get("enablePreemption") is False and _preempts_by_default(plugins):
            del args["enablePreemption"]
            self._dropped(
                f"{place}: enablePreemption", "DefaultPreemption is on, and koordpy has one preemption for all"
            )

    def _note_plugins(self, number: int, plugins: Json, configs: list[Json]) -> None:
        """Plugin by plugin what is left out, and where it was named."""
        named: defaultdict[str, list[str]] = defaultdict(list)
        for point, plugin_set in plugins.items():
            for plugin in _listed(plugin_set, "enabled"):
                named[plugin["name"]].append(point)
        for config in configs:
            named[str(config.get("name"))].append("pluginConfig")
        for name, places in named.items():
            kept = (
                {"pluginConfig"}
                if name == COSCHEDULING
                else {*_POINTS, "pluginConfig"}
                if name in self._known
                else set()
            )
            lost = [place for place in dict.fromkeys(places) if place not in kept]
            what = f"profiles[{number}]: {name} ({', '.join(lost)})"
            if lost and name in reasons.PART_OF_KOORDPY:
                self.notes.append(f"{what}: not needed: it is part of koordpy, and always on")
            elif lost:
                why = reasons.of_plugin(name) if name not in self._known else "koordpy has no such extension point"
                self._dropped(what, why)

    # --- the rest ---

    def _drop_unknown(self) -> None:
        """Drop fields that koordpy does not know. Any other mistake was one in the source too."""
        while lines := _mistakes_in(self.result):
            unknown = [found for line in lines if (found := _UNKNOWN.fullmatch(line))]
            if not unknown:
                raise Misread(*lines)
            for found in unknown:
                self._drop_field(found)

    def _drop_field(self, found: re.Match[str]) -> None:
        inside: Any = self.result
        if found["plugin"]:
            configs = self.result["profiles"][int(found["profile"])]["pluginConfig"]
            inside = next(config["args"] for config in configs if config["name"] == found["plugin"])
        *way, last = [key or int(number) for key, number in _STEP.findall(found["path"])]
        try:
            for step in way:
                inside = inside[step]
            del inside[last]
        except (KeyError, IndexError, TypeError):  # a name with a dot in it, which is nobody's
            raise Misread(found[0]) from None
        self._dropped(found[0].removesuffix(": unknown field"), reasons.of_field(str(last)))


def _mistakes_in(document: Json) -> tuple[str, ...]:
    try:
        settings_of(yaml.safe_dump(document))
    except Misread as error:
        return error.lines
    return ()


def _objects(found: Any, place: str) -> list[Json]:
    """A list of objects, as it should be."""
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Misread(f"{place}: is not made of objects with fields")
    return found


def _listed(plugin_set: Any, key: str) -> Iterator[Json]:
    said = plugin_set.get(key) if isinstance(plugin_set, dict) else None
    return (each for each in said or () if isinstance(each, dict) and isinstance(each.get("name"), str))


def _preempts(plugins: Json, configs: list[Json]) -> bool:
    """Somebody there evicts for pods that do not fit."""
    args = next((config.get("args") or {} for config in configs if config.get("name") == COSCHEDULING), {})
    return args.get("enablePreemption") is True or _preempts_by_default(plugins)


def _preempts_by_default(plugins: Json) -> bool:
    """DefaultPreemption is on unless `multiPoint` or `postFilter`, which has the last word, disables it."""
    on = True
    for point in ("multiPoint", "postFilter"):
        if {"*", "DefaultPreemption"} & {each["name"] for each in _listed(plugins.get(point), "disabled")}:
            on = False
        if any(each["name"] == "DefaultPreemption" for each in _listed(plugins.get(point), "enabled")):
            on = True
    return on
