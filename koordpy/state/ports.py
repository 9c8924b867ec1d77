"""Host ports in use, per protocol and port: few pods have any, so this is a sparse table and no column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from koordpy.api.pod import ContainerPort
from koordpy.state.shapes import Shape

_ANY = "0.0.0.0"  # noqa: S104 - Kubernetes' word for every address of a node


class PortTable:
    """Who listens where."""

    def __init__(self) -> None:
        # (protocol, port) -> node row -> address -> pods
        self._used: defaultdict[tuple[str, int], dict[int, dict[str, int]]] = defaultdict(dict)

    def clear(self) -> None:
        self._used.clear()

    def move(self, row: int, shape: Shape, count: int) -> None:
        for port in shape.traits.ports:
            rows = self._used[port.protocol, port.host_port]
            addresses = rows.setdefault(row, {})
            address = port.host_ip or _ANY
            addresses[address] = addresses.get(address, 0) + count
            if not addresses[address]:
                del addresses[address]
                if not addresses:
                    del rows[row]

    def taken(self, port: ContainerPort) -> Iterable[int]:
        """The rows on which this port cannot be had; a wildcard address collides with every other."""
        wanted = port.host_ip or _ANY
        for row, addresses in self._used[port.protocol, port.host_port].items():
            if wanted == _ANY or wanted in addresses or _ANY in addresses:
                yield row
