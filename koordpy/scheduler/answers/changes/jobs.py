"""Changes to other jobs: one that ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from koordpy.api.answers import AnyChange, JobEnds
from koordpy.scheduler.answers.holders import Holder
from koordpy.scheduler.answers.question import Question

_MOST_TRIED = 60
_ENOUGH = 3


def job_ends(question: Question, holders: Sequence[Holder]) -> Iterator[AnyChange | None]:
    """One of the jobs that hold what is missing is gone; the smallest that suffice are named."""
    found = 0
    for holder in holders[:_MOST_TRIED]:
        with question.sandbox.without(holder.pods):
            question.count(holder.pods, -1)
            try:
                starts = question.starts()
            finally:
                question.count(holder.pods, 1)
        if starts:
            yield JobEnds(job=holder.name, message=f"{holder.name} ends or is deleted")
            found += 1
        if found == _ENOUGH:
            return
        yield None
