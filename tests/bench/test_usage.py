"""Requests as kube-apiserver counts them: whose they are, and which are reads and which writes."""

from collections import Counter

from bench.live.usage import reads, writes
from tests.controlplane.client import Reply


def _line(verb: str, resource: str, count: int, subresource: str = "") -> str:
    labels = f'code="200",resource="{resource}",scope="resource",subresource="{subresource}",verb="{verb}"'
    return f"apiserver_request_total{{{labels}}} {count}"


class ServerThatCounted:
    """Answers its metrics."""

    def __init__(self, *lines: str) -> None:
        self.text = "\n".join(lines)

    async def request(self, method: str, path: str) -> Reply:
        assert (method, path) == ("GET", "/metrics")
        return Reply(200, {"text": self.text})


async def test_podgroups_are_the_schedulers_only_where_a_grouper_makes_them():
    server = ServerThatCounted(_line("POST", "podgroups", 3), _line("POST", "pods", 9), _line("PATCH", "pods", 2))
    assert await writes(server) == Counter({"PATCH pods": 2})
    assert await writes(server, grouped=True) == Counter({"PATCH pods": 2, "POST podgroups": 3})


async def test_reads_are_gets_and_lists_but_for_those_of_the_api_server_itself():
    server = ServerThatCounted(
        _line("GET", "pytorchjobs", 5),
        _line("LIST", "pods", 2),
        _line("WATCH", "pods", 7),
        _line("POST", "pods", 9),
        _line("GET", "leases", 30),
        _line("GET", "", 4),
    )
    assert await reads(server) == Counter({"GET pytorchjobs": 5, "LIST pods": 2})
