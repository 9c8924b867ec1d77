"""Everything in koordpy and the embedded API that rolls dice, made a function of a seed: a story can be told again."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock

from koordpy.kube import backoff
from koordpy.kube import leader as lease
from koordpy.kube.watch import reflector
from koordpy.sim.embedded import backend


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Jitter of back-offs, watches and leases, and the UIDs of objects."""
    jitter, bits = random.Random(seed), random.Random(seed)
    ids = SimpleNamespace(uuid4=lambda: uuid.UUID(int=bits.getrandbits(128), version=4))
    with (
        mock.patch.object(backoff, "_SHARED", jitter),
        mock.patch.object(reflector, "random", jitter),
        mock.patch.object(lease, "random", jitter),
        mock.patch.object(backend, "uuid", ids),
    ):
        yield
