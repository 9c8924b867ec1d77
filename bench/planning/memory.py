"""How much memory the state takes, and how long it takes to load it, in a process of its own.

`python -m bench.planning.memory NODES PODS` is that process. The objects come in pages of bytes, one page in memory at
a time, and take the path of `koordpy run`: decoded one by one, and delivered to the sinks.
"""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from bench.figures import BenchError, Figure
from bench.planning.objects import Json, app_of, node, node_name, pod
from koordpy.api.decode import Decoder, decode_page
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.app.build import build_scheduler
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.kube.watch.sinks import Sink

T = TypeVar("T")

TARGET_RSS_MB = 400
PAGE = 500
CHILD_SECONDS = 300


class Loaded(msgspec.Struct):
    """What the child process found."""

    rss_mb: float
    empty_mb: float  # with everything imported and nothing loaded
    seconds: float
    bytes_per_pod: float  # as JSON


def figures(nodes: int, pods: int) -> list[Figure]:
    command = [sys.executable, "-m", "bench.planning.memory", str(nodes), str(pods)]
    try:
        output = subprocess.run(command, capture_output=True, check=True, timeout=CHILD_SECONDS).stdout
    except subprocess.CalledProcessError as error:
        raise BenchError(f"{' '.join(command)} ended with {error.returncode}:\n{error.stderr.decode()}") from error
    loaded = msgspec.json.decode(output, type=Loaded)
    of = f"{nodes:,} nodes and {pods:,} pods"
    per_pod = (loaded.rss_mb - loaded.empty_mb) * 1e6 / pods
    return [
        Figure(f"memory of the process, {of}", "MB RSS", (loaded.rss_mb,), TARGET_RSS_MB),
        Figure(f"memory per pod, {of}", "bytes", (per_pod,)),
        Figure(f"loading through the intake, {of}", "s", (loaded.seconds,)),
        Figure(f"length of a pod as JSON, {of}", "bytes", (loaded.bytes_per_pod,)),
    ]


def load(nodes: int, pods: int) -> Loaded:
    """Load both into the state, and measure this process."""
    built = build_scheduler(Settings(), cast("Client", None))
    cluster, sinks = built.cluster, built.sinks
    empty_mb = _rss_mb()
    seconds, _ = _load_pages(_nodes(nodes), Decoder("Node", Node), sinks.nodes)
    more, length = _load_pages(_pods(pods, nodes), Decoder("Pod", Pod), sinks.pods, sinks.settle_pods)
    if (len(cluster.nodes), len(cluster.pods)) != (nodes, pods):
        raise BenchError(f"the picture has {len(cluster.nodes)} nodes and {len(cluster.pods)} pods")
    return Loaded(_rss_mb(), empty_mb, seconds + more, length / pods)


def _load_pages(
    objects: Iterator[Json], decode: Decoder[T], sink: Sink[T], after_page: Callable[[], None] = lambda: None
) -> tuple[float, int]:
    """Seconds of decoding and delivery, without those of generating the objects; and the bytes decoded."""
    seconds, length = 0.0, 0
    for page in _pages(objects):
        started = time.perf_counter()
        for raw in decode_page(page).items:
            sink.upsert(decode(raw))
        after_page()
        seconds += time.perf_counter() - started
        length += len(page)
    return seconds, length


def _pages(objects: Iterator[Json]) -> Iterator[bytes]:
    while items := list(itertools.islice(objects, PAGE)):
        yield msgspec.json.encode({"metadata": {}, "items": items})


def _nodes(count: int) -> Iterator[Json]:
    return (node(number) for number in range(count))


def _pods(count: int, nodes: int) -> Iterator[Json]:
    return (pod(i, app=app_of(i), node=node_name(i * 7919 % nodes)) for i in range(count))


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(load(int(sys.argv[1]), int(sys.argv[2]))))
