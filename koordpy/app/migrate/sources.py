"""Finds the configuration to migrate: in the file itself, in a ConfigMap, or in a manifest with one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from koordpy.api.strict import Misread
from koordpy.app.configschema import KIND

_VERSIONS = tuple(f"kubescheduler.config.k8s.io/{version}" for version in ("v1", "v1beta3", "v1beta2"))


def configuration_in(text: str) -> dict[str, Any]:
    """The one `KubeSchedulerConfiguration` that there is; raises Misread if there is none, or more than one."""
    found = dict(_configurations(_documents(text)))
    if not found:
        raise Misread(f"there is no {KIND} in it, and no ConfigMap with one")
    if len(found) > 1:
        raise Misread(
            f"there are several of kind {KIND}: {', '.join(place.rstrip(': ') for place in found)}; leave one of them"
        )
    ((place, configuration),) = found.items()
    version = configuration.get("apiVersion")
    if version not in _VERSIONS:
        raise Misread(f"{place}apiVersion: {version!r} is none of {', '.join(_VERSIONS)}")
    return configuration


def _documents(text: str) -> list[Any]:
    try:
        return list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        hint = "; it looks like a template, which helm template renders" if "{{" in text else ""
        raise Misread(f"not YAML: {' '.join(str(error).split())}{hint}") from None


def _configurations(documents: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each with the place that it was found at."""
    for number, document in enumerate(documents):
        if not isinstance(document, dict):
            continue
        if document.get("kind") == KIND:
            yield (f"document {number + 1}: " if len(documents) > 1 else ""), document
        elif document.get("kind") == "ConfigMap" and isinstance(document.get("data"), dict):
            yield from _in_config_map(document)
        elif str(document.get("kind")).endswith("List") and isinstance(document.get("items"), list):
            yield from _configurations(document["items"])


def _in_config_map(config_map: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    name = (config_map.get("metadata") or {}).get("name", "")
    for key, value in config_map["data"].items():
        if isinstance(value, str) and KIND in value:
            for _, document in _configurations(_documents(value)):
                yield f"ConfigMap {name}, {key}: ", document
