"""Running an asynchronous command: signals end it cleanly, a user's mistake ends it with one line and no traceback."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any

import click

from koordpy.app.process import CannotStart
from koordpy.kube.auth.credentials import BadCredentials
from koordpy.server.errors import CannotServe

_USERS_MISTAKES = (BadCredentials, CannotStart, CannotServe)


def run_until_signal(command: Coroutine[Any, Any, None]) -> int:
    """The exit code: 0 after SIGTERM, SIGINT or a natural end, 1 when it could not go on."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_until_signal(command))


async def _until_signal(command: Coroutine[Any, Any, None]) -> int:
    task = asyncio.ensure_future(command)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        pass
    except BaseException as error:
        mistake = _mistake_in(error)
        if mistake is None:
            raise
        click.echo(f"koordpy: {mistake}", err=True)
        return 1
    return 0


def _mistake_in(error: BaseException) -> BaseException | None:
    """The user's mistake inside an error or a group of them; None when it is ours."""
    if isinstance(error, BaseExceptionGroup):
        mistakes = [_mistake_in(inner) for inner in error.exceptions]
        return mistakes[0] if all(mistakes) else None
    return error if isinstance(error, _USERS_MISTAKES) else None


def _loop_factory() -> Any:
    if sys.platform == "win32":
        return None
    import uvloop  # noqa: PLC0415 - not on every platform

    return uvloop.new_event_loop
