"""Verbs: what a user may expect to see."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.scenarios.asking import Ask
from tests.scenarios.ground import Ground, Json
from tests.scenarios.mirror import EVENTS
from tests.scenarios.objects import TIMED_OUT, condition, node_of

_ASK_TIMES = 50
_ASK_EVERY_S = 0.1


class ExpectingVerbs(Ground):
    """Each waits until it is so, or looks for a while whether it stays so."""

    http: Ask  # what the scheduler's own HTTP server answers: status, and the decoded JSON

    async def bound(self, *names: str, namespace: str = "") -> None:
        await self.until(lambda: all(node_of(self.pod(name, namespace)) for name in names), f"bound: {names}")
        await self.until(self.observer.at_rest, "no gang is bound in part")

    async def some_bound(self, count: int, *names: str) -> list[str]:
        """Exactly so many of them are bound, and stay so; returns which."""
        what = f"{count} bound of {names}"
        await self.until(lambda: len(self._bound_of(names)) == count, what)
        await self.stays(lambda: len(self._bound_of(names)) == count, what)
        return self._bound_of(names)

    async def pending(self, *names: str, namespace: str = "") -> None:
        """They are not bound, and stay so for a while."""
        await self.stays(lambda: not any(node_of(self.pod(name, namespace)) for name in names), f"pending: {names}")

    async def says(self, name: str, text: str) -> None:
        """The pod's PodScheduled condition is False, and its message contains this."""
        wanted = self.fill(text)

        def told() -> bool:
            found = condition(self.pod(name))
            return found.get("status") == "False" and wanted in found.get("message", "")

        await self.until(told, f"{name} says: {wanted}")

    async def all_say(self, text: str, *names: str) -> None:
        for name in names:
            await self.says(name, text)

    async def event(
        self, reason: str, *, pod: str = "", pod_group: str = "", about: tuple[str, str] | None = None, text: str = ""
    ) -> Json:
        """There is an event about the pod, PodGroup or kind and name with this reason; its note contains the text."""
        wanted = self.fill(text)
        given = {"pod": pod, "pod_group": pod_group, "about": about}
        return await self.until(
            lambda: next((e for e in self.events(reason, **given) if wanted in e["note"]), None),
            f"event {reason} on {pod or about or f'PodGroup {pod_group}'}: {wanted}\n{self._all_events()}",
        )

    def events(
        self, reason: str, *, pod: str = "", pod_group: str = "", about: tuple[str, str] | None = None
    ) -> list[Json]:
        wanted = (reason, *(about or (("Pod", pod) if pod else ("PodGroup", pod_group))))
        return [event for event in self.mirror.all(EVENTS) if _about(event) == wanted]

    async def timed_out(self, *names: str) -> None:
        """They carry the annotation that says so."""
        await self.until(lambda: all(self._is_timed_out(name) for name in names), f"timed out: {names}")

    async def not_timed_out(self, *names: str) -> None:
        await self.stays(lambda: not any(self._is_timed_out(name) for name in names), f"not timed out: {names}")

    async def gang_summary(self, name: str) -> Json:
        """What the gang API says about a gang of this namespace."""
        status, answer = await self.http(f"/apis/v1/plugins/Coscheduling/gang/{self.namespace}/{name}")
        assert status == 200, answer
        return answer

    async def answers(self, path: str, status: int) -> None:
        """The scheduler's own server answers so, soon."""
        await self._asked_until(path, lambda found, _: found == status, f"{path}: {status}")

    async def gang_shows(self, gang: str, /, **fields: object) -> None:
        """The gang API says so, soon."""

        def shown(_: int, answer: object) -> bool:
            return isinstance(answer, dict) and all(answer.get(field) == value for field, value in fields.items())

        path = f"/apis/v1/plugins/Coscheduling/gang/{self.namespace}/{gang}"
        await self._asked_until(path, shown, f"gang {gang} shows {fields}")

    async def at_rest(self) -> None:
        """At the end of a story: binds have settled, and nothing forbidden was seen."""
        await self.until(self.observer.at_rest, "no gang is bound in part")

    def node_names(self, *names: str) -> list[str]:
        return [node_of(self.pod(name)) for name in names]

    async def _asked_until(self, path: str, true: Callable[[int, object], bool], what: str) -> None:
        answer: object = None
        for _ in range(_ASK_TIMES):
            status, answer = await self.http(path)
            if true(status, answer):
                return
            await asyncio.sleep(_ASK_EVERY_S)
        raise AssertionError(f"not so: {what}; it is {answer}")

    def _bound_of(self, names: tuple[str, ...]) -> list[str]:
        return [name for name in names if node_of(self.pod(name))]

    def _is_timed_out(self, name: str) -> bool:
        return (self.pod(name)["metadata"].get("annotations") or {}).get(TIMED_OUT) == "true"

    def _all_events(self) -> str:
        return "\n".join(f"  {_about(event)}: {event.get('note')}" for event in self.mirror.all(EVENTS))


def _about(event: Json) -> tuple[str, str, str]:
    return event["reason"], event["regarding"].get("kind", ""), event["regarding"].get("name", "")
