"""What processes have used, as the kernel counts it; and how many requests the API server has seen."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.controlplane.client import Client, Reply

ATTEMPTS = 4
_TICKS = os.sysconf("SC_CLK_TCK")
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_REQUESTS = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_WRITES = frozenset(("POST", "PUT", "PATCH", "APPLY", "DELETE"))
_READS = frozenset(("GET", "LIST"))
# Made by the bench itself, or by the API server about itself.
_NOT_THE_SCHEDULERS = frozenset(("POST pods", "POST nodes", "POST namespaces", "POST pytorchjobs"))
_MADE_WITH_THE_PODS = frozenset(("POST podgroups",))  # by the bench, where there is no grouper
_READ_BY_THE_SERVER = frozenset(
    ("", "configmaps", "customresourcedefinitions", "endpoints", "endpointslices", "leases", "namespaces", "services")
)


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of these processes so far."""
    return sum(_cpu_seconds(pid) for pid in pids)


def peak_mb(pid: int) -> float:
    """The most memory that the process ever had resident."""
    found = _PEAK.search(Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) * 1024 / 1e6 if found else 0.0


async def writes(client: Client, *, grouped: bool = False) -> Counter[str]:
    """Writes of schedulers so far, by verb and resource: `POST pods/binding`, `PATCH pods/status`, `POST events`.

    `grouped`: PodGroups are made by a grouper, and count.
    """
    others = _NOT_THE_SCHEDULERS if grouped else _NOT_THE_SCHEDULERS | _MADE_WITH_THE_PODS
    counts = await all_writes(client)
    return Counter({name: count for name, count in counts.items() if name not in others})


async def all_writes(client: Client) -> Counter[str]:
    """Everybody's, but of leases."""
    return await _requests(client, _WRITES, frozenset(("leases",)))


async def reads(client: Client) -> Counter[str]:
    """Everybody's so far, by verb and resource, but of what the API server reads for itself; watches are none."""
    return await _requests(client, _READS, _READ_BY_THE_SERVER)


async def _requests(client: Client, verbs: frozenset[str], without: frozenset[str]) -> Counter[str]:
    answer = await _metrics(client)
    counts: Counter[str] = Counter()
    for labels, value in _REQUESTS.findall(answer.ok()["text"]):
        by_label = dict(_LABEL.findall(labels))
        resource = "/".join(part for part in (by_label["resource"], by_label["subresource"]) if part)
        if by_label["verb"] in verbs and by_label["resource"] not in without:
            counts[f"{by_label['verb']} {resource}"] += int(float(value))
    return counts


async def _metrics(client: Client) -> Reply:
    """A server that is busy with the scheduler may need longer than a client waits: asked again, a few times."""
    for _ in range(ATTEMPTS - 1):
        with contextlib.suppress(TimeoutError):
            return await client.request("GET", "/metrics")
    return await client.request("GET", "/metrics")


def _cpu_seconds(pid: int) -> float:
    # The second field is the program's name in parentheses, and may hold spaces.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
