"""Selects the kubeconfig, and joins several files into one, both as kubectl does.

This module joins the content only; `identity.py` reads its users and clusters.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

_LISTS = ("clusters", "contexts", "users")
_PATHS = {"clusters": ("certificate-authority",), "users": ("client-certificate", "client-key", "tokenFile")}


def named_by_user(kubeconfig: str | None, environment: Mapping[str, str]) -> str | None:
    """What `--kubeconfig` names, else `KUBECONFIG`, which may name several files; None if neither does."""
    return kubeconfig or environment.get("KUBECONFIG") or None


def of_home() -> str | None:
    """`~/.kube/config`, if there is one."""
    try:
        path = Path.home() / ".kube" / "config"
    except RuntimeError:  # nobody's home, as for some users in containers
        return None
    return str(path) if path.is_file() else None


def files_of(path: str) -> list[Path]:
    """Those of the files that are there; kubectl leaves out the others."""
    found = (Path(part).expanduser() for part in path.split(os.pathsep) if part)
    return [file for file in found if file.is_file()]


def joined(files: list[Path]) -> Any:
    """The files as one: of entries of one name, and of current contexts, the first counts.

    Relative paths in them are relative to the file that they stand in. Raises OSError, or whatever a file makes YAML or
    this stumble over that is no kubeconfig.
    """
    content: dict[str, Any] = {each: [] for each in _LISTS}
    for file in files:
        said = yaml.safe_load(file.read_bytes())
        if said is None and len(files) > 1:  # kubectl takes an empty file for one that says nothing
            continue
        content["current-context"] = content.get("current-context") or said.get("current-context")
        for each in _LISTS:
            known = {entry["name"] for entry in content[each]}
            more = [entry for entry in said.get(each) or [] if entry["name"] not in known]
            content[each] += [_anchored(entry, each, file.absolute().parent) for entry in more]
    return content


def chosen_context(content: Any, context: str | None) -> str:
    """The context that was asked for, else the current one; raises ValueError with those that there are."""
    names = [str(entry["name"]) for entry in content["contexts"]]
    wanted = context or content["current-context"]
    if names and not wanted:
        raise ValueError(f"it has no current-context; choose one with --context: {', '.join(names)}")
    if names and wanted not in names:
        raise ValueError(f"there is no context {wanted!r}; there are {', '.join(names)}")
    return str(wanted)


def _anchored(entry: dict[str, Any], kind: str, directory: Path) -> dict[str, Any]:
    inner = kind.removesuffix("s")
    said = entry.get(inner)
    if not isinstance(said, dict):
        return entry
    paths = {key: said[key] for key in _PATHS.get(kind, ()) if isinstance(said.get(key), str) and said[key]}
    return entry | {inner: said | {key: str(directory / path) for key, path in paths.items()}}
