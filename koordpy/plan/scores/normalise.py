"""kube-scheduler's default normalisation of raw scores to 0..100."""

from __future__ import annotations

import numpy as np

from koordpy.state.arrays import Ints


def share_of_highest(raw: Ints) -> Ints:
    """`[C]`: 100 for the highest of `raw`, `[C]`; all 0 when all are 0."""
    highest = int(raw.max(initial=0))
    return raw * 100 // highest if highest > 0 else raw


def least_is_best(raw: Ints) -> Ints:
    """`[C]`: 100 for 0, and 0 for the highest of `raw`, `[C]`."""
    highest = int(raw.max(initial=0))
    return 100 - raw * 100 // highest if highest > 0 else np.full(len(raw), 100, dtype=np.int64)
