"""Whether there can be objects of a kind: its definition is installed, in one of its API groups at least.

That none is installed is said once in a process, with what to do about it; and so is that one is there after all.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import structlog

from koordpy.kube.watch.reflector import Reflector, Resource

log = structlog.get_logger()


class Definition(NamedTuple):
    """What a cluster may lack."""

    name: str  # of its objects, as the log has it
    resources: tuple[Resource[Any], ...]  # one of them is enough
    hint: str
    is_waited_for: bool = False  # something stands still without it: that is a warning


class Installed:
    """Follows one definition, which is taken for installed until the API server says otherwise."""

    def __init__(self, definition: Definition, reflectors: Iterable[Reflector[Any]]) -> None:
        self._definition = definition
        self._served: dict[str, bool] = {}  # by API version
        for reflector in reflectors:
            self._served[reflector.resource.api_version] = True
            reflector.on_served(partial(self._note, reflector.resource.api_version))

    @property
    def now(self) -> bool:
        return any(self._served.values())

    def _note(self, api_version: str, served: bool) -> None:
        before = self.now
        self._served[api_version] = served
        if before and not self.now:
            tell = log.warning if self._definition.is_waited_for else log.info
            missing = f"{self._definition.name}_not_installed"
            tell(missing, hint=self._definition.hint)
        elif self.now and not before:
            there = f"{self._definition.name}_installed"
            log.info(there, api_version=api_version)
