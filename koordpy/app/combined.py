"""`koordpy run --with-controllers`: the scheduler and the controllers in one process, on one set of watches.

Pods, nodes and PodGroups are listed and decoded once. Each of the two has its own lease and its own connections for
writing: a status that is slow to write must not stand before a bind.
"""

from __future__ import annotations

import asyncio

from koordpy.app.controllers import CONNECTIONS, Controllers
from koordpy.app.process import Process, check_reachable, connections
from koordpy.app.settings import Settings
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.client import Client
from koordpy.kube.http.transport import HttpTransport
from koordpy.kube.watch.shared import SharedReflectors


async def run(settings: Settings) -> None:
    """Until cancelled; raises CannotStart, BadCredentials or CannotServe with one line for the user."""
    credentials = await load_credentials(settings.kubeconfig, settings.context)
    async with (
        HttpTransport(credentials, connections=connections(settings)) as transport,
        HttpTransport(credentials, connections=CONNECTIONS) as for_statuses,
    ):
        client = Client(transport)
        await check_reachable(client, "/api/v1/nodes")
        reflectors = SharedReflectors(client)
        process = Process(client, settings, reflectors)
        controllers = Controllers(Client(for_statuses), settings, reflectors)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(process.run())
            tasks.create_task(controllers.run())
