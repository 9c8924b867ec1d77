"""Answers on a terminal: tables that fit it, in colours only there; or the documents as they came."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import click
import msgspec
import yaml

Json = dict[str, Any]
Row = tuple[str, ...]

_GOOD, _BAD, _SOFT = "green", "yellow", "bright_black"
_COLOURS = {"Now": _GOOD, "Running": _GOOD, "ByEvicting": "cyan", "Later": _BAD, "Never": "red"}


def show(body: bytes, output: str, before: Any = None) -> Any:
    """Print an answer, unless it says what the one before said; returns what to compare the next one with."""
    answer = msgspec.json.decode(body)
    said = {key: value for key, value in answer.items() if key != "asOf"}
    if said == before:
        return said
    if output == "json":
        click.echo(msgspec.json.format(body, indent=2))
    elif output == "yaml":
        click.echo(yaml.safe_dump(answer, sort_keys=False, allow_unicode=True), nl=False)
    else:
        tell = {"JobList": _jobs, "Explanation": _explanation, "WhatIf": _what_if}[answer["kind"]]
        for line in tell(answer):
            click.echo(line)
    sys.stdout.flush()
    return said


def _jobs(answer: Json) -> Iterator[str]:
    if not answer["items"]:
        yield "nothing is pending"
        return
    rows: list[Row] = [("#", "JOB", "QUEUE", "PRIORITY", "STATE", "REASON", "MEMBERS", "WAITING", "START", "MESSAGE")]
    rows += [_line(job, answer["asOf"]) for job in answer["items"]]
    yield from _table(rows)


def _line(job: Json, now: str) -> Row:
    return (
        str(job["position"]),
        f"{job['namespace']}/{job['name']}",
        job["queue"] or "-",
        str(job["priority"]),
        job["state"],
        job["reason"] or "-",
        _members(job["members"]),
        _age(job["since"], now),
        _start(job["expectedStart"]),
        job["message"],
    )


def _members(members: Json) -> str:
    return f"{members['bound']}/{members['minimum']} of {members['total']}"


def _start(start: Json) -> str:
    return f"{start['certainty']} {start['time']}" if start["time"] else str(start["certainty"])


def _explanation(answer: Json) -> Iterator[str]:
    job = answer["job"]
    members, state = job["members"], _coloured(job["state"], _COLOURS.get(job["state"], _BAD))
    yield f"{click.style(job['namespace'] + '/' + job['name'], bold=True)}  {job['type']}, {state}" + (
        f" ({job['reason']})" if job["reason"] else ""
    )
    place = f", number {job['position']} in line" if job["position"] else ""
    queue = f", queue {job['queue']}" if job["queue"] else ""
    yield f"  priority {job['priority']}{queue}{place}, since {job['since']}"
    counts = ", ".join(f"{members[each]} {each}" for each in ("bound", "pending", "gated"))
    yield f"  members: {counts}; {members['minimum']} start together"
    yield f"  start: {_start(job['expectedStart'])} ({job['expectedStart']['message']})"
    if job["message"]:
        yield ""
        yield job["message"]
    yield from _why(answer)


def _obstacle(obstacle: Json) -> str:
    """What it is, its name and what is said of it; that begins with the name mostly."""
    kind, name = obstacle["kind"].lower(), obstacle["name"]
    message = obstacle["message"].removeprefix(f"{kind} ")
    return f"{kind} {message}" if message.startswith(name) else f"{kind} {name}: {message}"


def _why(answer: Json) -> Iterator[str]:
    """What is missing, who is in the way, and what would help."""
    if answer["missing"]:
        yield ""
        rows: list[Row] = [("MISSING", "ASKED", "FREE", "SHORT", "WHERE", "FIT")]
        for each in answer["missing"]:
            where = f"{each['layer']} {each['domain']}" if each["domain"] else "the cluster"
            fit = f"{each['slots']} of {each['needed']}"
            rows.append((each["resource"], each["asked"], each["free"], each["short"], where, fit))
        yield from _table(rows)
    if answer["inTheWay"]:
        yield ""
        yield click.style("In the way:", bold=True)
        yield from (f"  {_obstacle(each)}" for each in answer["inTheWay"][:10])
        more = len(answer["inTheWay"]) - 10
        yield from [f"  and {more} more"] if more > 0 else []
    if not answer["proved"]:
        yield "The search for a place gave up: there may be one that was not tried."
    if answer["changes"]:
        yield ""
        yield click.style("It would start now if (each by itself):", bold=True)
        for change in answer["changes"]:
            evicts = f"; evicts {', '.join(change['evicts'])}" if change["evicts"] else ""
            yield f"  {_coloured(change['kind'], _GOOD)}: {change['message']}{evicts}"
    elif answer["missing"] or answer["inTheWay"]:
        yield ""
        yield "No single change was found that would start it now."
    if answer["stopped"]:
        yield _coloured(answer["stopped"], _SOFT)


def _what_if(answer: Json) -> Iterator[str]:
    if not answer["jobs"]:
        yield "nothing is pending"
    for job in answer["jobs"]:
        verdict = _coloured(_verdict(job), _COLOURS[job["verdict"]])
        name = click.style(f"{job['namespace']}/{job['name']}", bold=True)
        yield f"{name}  {verdict}: {_start(job['start'])} ({job['start']['message']})"
        if job["together"]:
            yield f"  together in {job['together']['layer']} {job['together']['domain']}".rstrip()
        yield from (f"  {each['pod']} -> {each['node']}" for each in job["placement"])
        yield from (f"  {_coloured('evicts', 'red')} {each['pod']} (of {each['job']})" for each in job["evicts"])
        if job["explanation"]:
            yield f"  {job['explanation']['message']}"
            yield from (f"  {line}" if line else "" for line in _why(job["explanation"]))


def _verdict(job: Json) -> str:
    """A job that waits for others may start, though nobody knows when: that is no `never` to people."""
    waits = job["verdict"] == "Never" and job["start"]["certainty"] == "Unknown"
    return "Not now" if waits else str(job["verdict"])


def _age(since: str, now: str) -> str:
    """`90s`, `5m`, `3h`, `2d`, as kubectl has it."""
    seconds = int((_time(now) - _time(since)).total_seconds())
    for unit, size, least in (("d", 86400, 172800), ("h", 3600, 7200), ("m", 60, 120)):
        if seconds >= least:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _coloured(text: str, colour: str) -> str:
    return click.style(text, fg=colour)  # click takes colours away where the output is no terminal


def _table(rows: Sequence[Row]) -> Iterator[str]:
    """Aligned; on a terminal the last column is cut where the line ends."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        line = "  ".join([*cells, row[-1]]).rstrip()
        line = line if most is None or len(line) <= most else line[: most - 1] + "…"
        yield click.style(line, bold=True) if not number else line
