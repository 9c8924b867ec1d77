"""`koordpy config`: look at a configuration file without starting anything."""

from __future__ import annotations

import sys

import click


@click.group()
def config() -> None:
    """Check a configuration file, or migrate one of another scheduler."""


@config.command()
@click.argument("file")
def check(file: str) -> None:
    """Say everything that is wrong with a KubeSchedulerConfiguration.

    Each line names a field and its value; then the exit code is 1. What is accepted and has no meaning here is listed,
    and is no mistake. FILE may be - for standard input.
    """
    from koordpy.api.strict import Misread  # noqa: PLC0415
    from koordpy.app.configfile import settings_of  # noqa: PLC0415

    try:
        settings, without_meaning = settings_of(_text_of(file))
    except Misread as error:
        for line in error.lines:
            click.echo(f"{file}: {line}")
        sys.exit(1)
    for field in without_meaning:
        click.echo(f"{file}: {field}: accepted, and without meaning here")
    click.echo(f"{file}: ok, profiles {', '.join(profile.scheduler_name for profile in settings.profiles)}")


@config.command()
@click.argument("file")
def migrate(file: str) -> None:
    """Turn a configuration of koord-scheduler or scheduler-plugins into one for koordpy.

    FILE is a KubeSchedulerConfiguration (v1, v1beta3 or v1beta2), a ConfigMap with one, or a manifest with such a
    ConfigMap; or - for standard input. The result is printed, and standard error says plugin by plugin what was left
    out and why.

    \b
    kubectl -n koordinator-system get configmap koord-scheduler-config -o yaml | koordpy config migrate -
    """  # noqa: D301 - click wants the backspace character itself
    from koordpy.api.strict import Misread  # noqa: PLC0415
    from koordpy.app.migrate.migration import migrate as migrated  # noqa: PLC0415

    try:
        result = migrated(_text_of(file))
    except Misread as error:
        for line in error.lines:
            click.echo(f"{file}: {line}", err=True)
        sys.exit(1)
    click.echo(result.text, nl=False)
    for note in result.notes:
        click.echo(note, err=True)


def _text_of(file: str) -> str:
    """What stands in the file; one that cannot be read ends the process with one line."""
    try:
        with click.open_file(file, encoding="utf-8") as stream:
            text: str = stream.read()
            return text
    except OSError as error:
        click.echo(f"koordpy: {file}: {error.strerror}", err=True)
    except UnicodeDecodeError as error:
        click.echo(f"koordpy: {file}: not YAML: {error}", err=True)
    sys.exit(1)
