"""Logs: JSON lines in a cluster, readable ones on a terminal; not through the standard library (four times slower).

Every time carries its zone: UTC in JSON, and on a terminal that of whoever looks at it.
"""

from __future__ import annotations

import logging
import sys
from typing import Literal

import structlog

Format = Literal["auto", "json", "console"]

_LOCAL_TIME = "%Y-%m-%dT%H:%M:%S.%f%z"


def configure(level: str = "info", form: Format = "auto") -> None:
    """Set up logging for the process, to standard error."""
    console = sys.stderr.isatty() if form == "auto" else form == "console"
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()) if console else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt=_LOCAL_TIME if console else "iso", utc=not console),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    # kubernetes_asyncio and aiohttp log through the standard library; their tracebacks are no use to a user.
    logging.basicConfig(level=logging.CRITICAL)
