"""The HTTP server itself: `/healthz`, `/livez`, `/readyz`, `/metrics`, and the address it listens on.

Other modules add their routes to the application. Nothing here decides what is healthy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog
from aiohttp import web
from aiohttp.typedefs import Middleware
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from koordpy.server.certificate import tls
from koordpy.server.errors import CannotServe
from koordpy.server.health import Health
from koordpy.server.settings import Serving

log = structlog.get_logger()


def application(
    health: Health, refresh_gauges: Callable[[], None], middlewares: Sequence[Middleware] = ()
) -> web.Application:
    """The routes. `refresh_gauges` is called when `/metrics` is read: gauges cost nothing in between."""

    async def live(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def ready(request: web.Request) -> web.Response:
        ok, text = health.report(verbose="verbose" in request.query)
        return web.Response(status=200 if ok else 503, text=text)

    async def metrics(_: web.Request) -> web.Response:
        refresh_gauges()
        return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application(middlewares=middlewares)
    app.router.add_get("/healthz", live)
    app.router.add_get("/livez", live)
    app.router.add_get("/readyz", ready)
    app.router.add_get("/metrics", metrics)
    return app


async def serve(app: web.Application, serving: Serving) -> None:
    """Answer until cancelled."""
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, serving.address, serving.port, ssl_context=tls(serving))
        await site.start()
        address, port = runner.addresses[0][:2]  # with port 0 nobody else could know it
        log.info("serving", address=address, port=port, tls=bool(serving.tls_cert_file))
        await asyncio.Event().wait()
    except OSError as error:
        raise CannotServe(f"cannot serve on {serving.address}:{serving.port}: {error.strerror or error}") from error
    finally:
        await runner.cleanup()
