"""`koordpy simulate`: the whole system against a failing API, on virtual time, from a seed."""

from __future__ import annotations

import sys

import click


def _range(text: str) -> range:
    first, colon, last = text.rpartition(":")
    try:
        begin, end = int(first or 0), int(last)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number of seeds nor FROM:TO") from None
    if end <= begin or (colon and not first):
        raise click.BadParameter(f"{text!r} has no seeds: give a number above 0, or FROM:TO")
    return range(begin, end)


@click.command()
@click.option("--seed", type=int, help="Play this one world.")
@click.option("--seeds", type=_range, help="Play many: a number of them from 0 on, or FROM:TO.")
@click.option("--soak", type=click.IntRange(min=1), metavar="HOURS", help="Hours of churn without faults, instead.")
@click.option("--nodes", type=click.IntRange(min=1), default=1000, show_default=True, help="Of --soak.")
@click.option(
    "--record", is_flag=True, help="Print everything that happened: each step, and each write with its answer."
)
@click.option("--shrink/--no-shrink", default=True, help="Of a world that fails, look for a shorter history that does.")
def simulate(
    seed: int | None, seeds: range | None, soak: int | None, nodes: int, *, record: bool, shrink: bool
) -> None:
    """Run schedulers, controllers, users and nodes in one process, on an API that fails.

    A seed is a world: who submits what, which calls are refused, lost or late, who is killed when. The same seed gives
    the same history. Whatever must never happen is checked with each write, and in the end, when nothing fails any
    more, that everything that fits runs and that every status is true. A world that fails is told with its seed, with a
    history that is as short as could be found, and with what each process believed.

    --soak looks for what grows: jobs come and go on many nodes and ask for most of what they have, and memory, every
    structure of the scheduler and the controllers, statuses and the scheduler's state of the cluster are looked at
    after each simulated hour. Three hours are the least from which it can be said that something grows.
    """
    if soak is not None:
        from koordpy.sim.simulate.soak import soak as run_soak  # noqa: PLC0415

        sys.exit(run_soak(soak, nodes, click.echo))
    from koordpy.sim.simulate.run import play_all  # noqa: PLC0415

    chosen = range(seed, seed + 1) if seed is not None else seeds
    if chosen is None:
        raise click.UsageError("give --seed N, --seeds COUNT or FROM:TO, or --soak HOURS")
    sys.exit(play_all(chosen, click.echo, record=record, shrink=shrink))
