"""Options that `koordpy run` and `koordpy controllers` share, and the settings that they make."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:  # heavy, and --help must answer at once
    from koordpy.app.settings import Settings

Flags = Mapping[str, str | int | bool | tuple[str, ...] | None]
Command = TypeVar("Command", bound=Callable[..., Any])


def _cluster_options() -> tuple[Callable[[Command], Command], ...]:
    return (
        click.option(
            "--kubeconfig",
            metavar="FILE",
            help="Kubeconfig; else $KUBECONFIG, else the service account of the pod, else ~/.kube/config.",
        ),
        click.option("--context", metavar="NAME", help="A context of the kubeconfig. [default: its current one]"),
    )


def with_cluster_options(command: Command) -> Command:
    """Where the cluster is, and who we are to it."""
    return _decorated(command, _cluster_options())


def process_options(*, port: int) -> Callable[[Command], Command]:
    """The options of a process that talks to a cluster; its health is on `port` unless told otherwise."""
    options = (
        *_cluster_options(),
        click.option("--config", metavar="FILE", help="A KubeSchedulerConfiguration; flags override it."),
        click.option(
            "--leader-elect",
            is_flag=False,  # kube-scheduler's spelling: `--leader-elect` and `--leader-elect=false` both work
            flag_value=True,
            type=bool,
            default=None,
            metavar="BOOL",
            help="Write only while holding the lease. [default: true]",
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=port,
            show_default=True,
            help="Port of health and metrics; 0 takes a free one.",
        ),
        click.option("--bind-address", metavar="IP", help="Address of health and metrics. [default: 0.0.0.0]"),
        click.option(
            "--tls-cert-file", metavar="FILE", help="Serve health and metrics over TLS with this certificate."
        ),
        click.option(
            "--tls-private-key-file", metavar="FILE", help="The certificate's key, if it is not in the same file."
        ),
        click.option(
            "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
        ),
        click.option("--log-format", type=click.Choice(["auto", "json", "console"]), default="auto", show_default=True),
    )

    def decorate(command: Command) -> Command:
        return _decorated(command, options)

    return decorate


def _decorated(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def begin(flags: Flags) -> Settings:
    """Set up logging and return the settings; a mistake in them ends the process with one line."""
    from koordpy.app import logs  # noqa: PLC0415

    form = flags["log_format"]
    logs.configure(str(flags["log_level"]), "json" if form == "json" else "console" if form == "console" else "auto")
    return _settings(flags)


def _settings(flags: Flags) -> Settings:
    import structlog  # noqa: PLC0415

    from koordpy.app.configfile import BadConfig, read_settings  # noqa: PLC0415
    from koordpy.app.settings import Settings  # noqa: PLC0415

    settings = Settings()
    if flags["config"]:
        try:
            settings, without_meaning = read_settings(str(flags["config"]))
        except BadConfig as error:
            click.echo(f"koordpy: {error}", err=True)
            sys.exit(1)
        if without_meaning:
            structlog.get_logger().info("accepted_without_meaning", fields=without_meaning)
    serving = {
        "port": flags["port"],
        "address": flags["bind_address"],
        "tls_cert_file": flags["tls_cert_file"],
        "tls_private_key_file": flags["tls_private_key_file"],
        "authorization": flags.get("authorization"),
        "always_allow_paths": flags.get("authorization_always_allow_paths"),
    }
    given = {name: value for name, value in serving.items() if value is not None}
    settings = replace(settings, serving=replace(settings.serving, **given))  # type: ignore[arg-type]
    if flags["leader_elect"] is not None:
        settings = replace(
            settings, leader_election=replace(settings.leader_election, enabled=bool(flags["leader_elect"]))
        )
    if flags["kubeconfig"]:
        settings = replace(settings, kubeconfig=str(flags["kubeconfig"]))
    if flags["context"]:
        settings = replace(settings, context=str(flags["context"]))
    return settings
