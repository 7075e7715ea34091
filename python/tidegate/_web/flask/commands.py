"""``flask tidegate``: commands for operators."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import click
from flask.cli import AppGroup

from ..operate import CLEAR, HELP, MOST, VERBS, Operator, Refused

NUMBER = click.IntRange(min=0, max=MOST)


def commands(operator: Operator) -> AppGroup:
    """The commands of one application."""
    group = AppGroup("tidegate", help="Look after the rate limits of this application.")
    for name in VERBS:
        ask = getattr(operator, name)
        command = _shown(ask)
        # The one that is added last comes first.
        for option, parameter in reversed(list(inspect.signature(ask).parameters.items())):
            command = _added(option, parameter.default)(command)
        if name == "clear":
            command = click.confirmation_option(prompt=CLEAR)(command)
        group.command(name, help=inspect.getdoc(ask))(command)
    return group


def _added(option: str, default: object) -> Callable[[Any], Any]:
    if option == "actor":
        return click.argument(option)
    if option == "keys":
        return click.option("--limit", option, multiple=True, metavar="KEY", help=HELP[option])
    return click.option(f"--{option}", type=NUMBER, default=default, show_default=True, help=HELP[option])


def _shown(ask: Callable[..., Any]) -> Callable[..., None]:
    def command(**given: Any) -> None:
        try:
            for line in ask(**given):
                click.echo(line)
        except Refused as error:
            raise click.ClickException(str(error)) from None

    return command
