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
    group = AppGroup("tidegate", help="Look after the rate limits of this application.")
    for name in VERBS:
        ask = getattr(operator, name)
        command = _shown(ask)
        # The one that is added last comes first.
        for option, parameter in reversed(list(inspect.signature(ask).parameters.items())):
            if option == "actor":
                added = click.argument(option)
            elif option == "keys":
                added = click.option("--limit", option, multiple=True, metavar="KEY", help=HELP[option])
            else:
                default = parameter.default
                added = click.option(f"--{option}", type=NUMBER, default=default, show_default=True, help=HELP[option])
            command = added(command)
        if name == "clear":
            command = click.confirmation_option(prompt=CLEAR)(command)
        group.command(name, help=inspect.getdoc(ask))(command)
    return group


def _shown(ask: Callable[..., Any]) -> Callable[..., None]:
    def command(**given: Any) -> None:
        try:
            for line in ask(**given):
                click.echo(line)
        except Refused as error:
            raise click.ClickException(str(error)) from None

    return command
