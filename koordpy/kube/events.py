"""Events in `events.k8s.io/v1`, as kube-scheduler records them."""

from __future__ import annotations

import secrets
from typing import Literal
from urllib.parse import quote

from koordpy.api.times import micro_instant_of_seconds
from koordpy.kube.client import Client
from koordpy.kube.writes import PodRef

_LONGEST_NOTE = 1024  # the API server refuses more


class EventRecorder:
    """Writes events in the name of a scheduler."""

    def __init__(self, client: Client, instance: str) -> None:
        self._client, self._instance = client, instance

    async def record(
        self,
        pod: PodRef,
        *,
        kind: Literal["Normal", "Warning"],
        reason: str,
        action: str,
        note: str,
        controller: str,
        now: float,
    ) -> None:
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            # A fixed name is what makes a retry after a lost answer harmless: the second create finds the first.
            "metadata": {"name": f"{pod.name[:230]}.{secrets.token_hex(8)}", "namespace": pod.namespace},
            "eventTime": micro_instant_of_seconds(now),
            "reportingController": controller,
            "reportingInstance": self._instance,
            "regarding": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": pod.namespace,
                "name": pod.name,
                "uid": pod.uid,
            },
            "type": kind,
            "reason": reason,
            "action": action,
            "note": note if len(note) <= _LONGEST_NOTE else note[: _LONGEST_NOTE - 4] + " ...",
        }
        path = f"/apis/events.k8s.io/v1/namespaces/{quote(pod.namespace)}/events"
        await self._client.write("POST", path, body)
