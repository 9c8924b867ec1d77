"""Quantities on the command line: what is no quantity, or nothing, is wrong usage."""

from __future__ import annotations

import click


def positive(text: str, option: click.Parameter, of: str = "") -> str:
    """The text, if it is a Kubernetes quantity above zero; `of` is what it is a quantity of."""
    from koordpy.api.errors import MalformedValue  # noqa: PLC0415
    from koordpy.api.quantity import nano_units  # noqa: PLC0415

    name = f"{of}: " if of else ""
    try:
        above_zero = nano_units(text) > 0
    except MalformedValue as error:
        raise click.BadParameter(f"{name}{text!r} {error.problem}", param=option) from None
    if not above_zero:
        raise click.BadParameter(f"{name}{text!r} is not above zero", param=option)
    return text
