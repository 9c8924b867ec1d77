"""What users declare as the run time of a job.

Nothing; the recorded run time itself; or an estimate as users of batch systems make them. About those it is
published that the accuracy of a job (its run time divided by its estimate) is spread evenly between 0 and 1, with a
tenth to a fifth of the jobs at 1 (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001); that nine in ten jobs have one of some
twenty round values, so that multiples of the run time would tell a scheduler too much (Tsafrir, Using Inaccurate
Estimates Accurately, JSSPP 2010); and that estimates are hardly better where nothing is killed for them (Lee et al.,
JSSPP 2004). So an accuracy is drawn, and the estimate is rounded up to the next value that people write.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from bench.traces import TraceJob

_ALL_OF_IT = 0.15  # of jobs run for as long as they were estimated
_LEAST_ACCURACY = 0.02
_MINUTE, _HOUR = 60, 3600
ROUND_S = (
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 20, 30, 45)),
    *(hours * _HOUR for hours in (1, 1.5, 2, 3, 4, 6, 8, 10, 12, 16, 18, 24, 36, 48)),
)

Declares = Callable[[TraceJob], float | None]


def nothing(_: TraceJob) -> None:
    return None


def exactly(job: TraceJob) -> float:
    return job.duration_s


def as_users(seed: int) -> Declares:
    """The same estimate for the same job, whatever else is asked; never less than its run time."""

    def declares(job: TraceJob) -> float:
        random = Random(f"{seed} {job.name}")
        accuracy = 1.0 if random.random() < _ALL_OF_IT else random.uniform(_LEAST_ACCURACY, 1.0)
        estimate = job.duration_s / accuracy
        rounded = next((each for each in ROUND_S if each >= estimate), ROUND_S[-1])
        return max(rounded, job.duration_s)

    return declares
