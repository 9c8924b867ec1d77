"""The client of a scheduler that is recorded: which calls it began, and when which answer let it go on.

Retries and waiting within the client are not recorded, only the outcome. Of an answer no more is kept than what the
scheduler reads of a pod.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, cast

import msgspec

from koordpy.api.decode import UNREADABLE
from koordpy.api.pod import Pod
from koordpy.app.journal.recorder import Recorder
from koordpy.app.journal.steps import Steps
from koordpy.kube import errors
from koordpy.kube.client import Client, NotLeading
from koordpy.kube.errors import ApiError
from koordpy.kube.http.transport import JSON

CANCELLED = "CancelledError"
_pods = msgspec.json.Decoder(Pod)


class RecordingClient(Client):
    """Hands everything on to the client of the process."""

    def __init__(self, client: Client, recorder: Recorder) -> None:
        self._inner, self._recorder = client, recorder

    async def write(
        self, method: str, path: str, body: Any, *, content_type: str = JSON, attempts: int = 5, timeout_s: float = 0.0
    ) -> bytes:
        call = self._inner.write(method, path, body, content_type=content_type, attempts=attempts, timeout_s=timeout_s)
        self._recorder.begun(method, path, body)
        return await self._outcome_of(call, is_read=False)

    async def get_patiently(self, path: str) -> bytes:
        self._recorder.begun("GET", path, None)
        return await self._outcome_of(self._inner.get_patiently(path), is_read=True)

    async def _outcome_of(self, call: Awaitable[bytes], *, is_read: bool) -> bytes:
        recorder, steps = self._recorder, cast("Steps | None", self._recorder.task)
        if steps is None:  # nobody records any more
            return await call
        steps.is_calling = True
        try:
            answer = await call
        except BaseException as error:
            self._goes_on(steps)
            recorder.answered(*_as_values(error))
            raise
        self._goes_on(steps)
        recorder.answered("", _read_part(answer) if is_read else None)
        return answer

    def _goes_on(self, steps: Steps) -> None:
        steps.is_calling = False
        if self._recorder.effects is None:  # the step in which the call was begun is over
            steps.enter()


def _read_part(answer: bytes) -> Any:
    """Of a pod, what koordpy reads: no environment, no commands."""
    try:
        return msgspec.Raw(msgspec.json.encode(_pods.decode(answer)))
    except UNREADABLE:
        return None


def _as_values(error: BaseException) -> tuple[Any, ...]:
    if isinstance(error, ApiError):
        return type(error).__name__, str(error), error.status, error.retry_after
    return type(error).__name__, str(error)


def error_of(name: str, message: str, status: int = 0, retry_after: float | None = None) -> Exception:
    """The error that was recorded; one that is none of the API server's comes back as a RuntimeError."""
    kind = NotLeading if name == NotLeading.__name__ else getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, ApiError):
        return kind(message, status=status, retry_after=retry_after)
    return RuntimeError(f"{name}: {message}")
