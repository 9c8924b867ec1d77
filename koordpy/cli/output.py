"""Output that cannot be written, such as to a disk that is full: one line and the exit code 1, whatever the command.

A reader that has seen enough (`koordpy crds | head`) is no mistake, and nothing is said about it.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click


class Commands(click.Group):
    """The root of all commands, so that none has to see to it itself."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().main(*arguments, **options)
        except (OSError, ExceptionGroup):
            problem = _problem_of_output()
            if problem is None:
                raise
            if not isinstance(problem, BrokenPipeError):
                click.echo(f"koordpy: standard output: {problem.strerror}", err=True)
            sys.exit(1)


def _problem_of_output() -> OSError | None:
    """Why nothing can be printed; None if something can, which is tried: the error may be of any other file."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes once more when it ends, and would say that this fails.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error
    return None
