"""``flask tidegate``: commands for operators."""

from __future__ import annotations

from collections.abc import Iterator

import click
from flask.cli import AppGroup

from ..operate import BUDGET, ROWS, Operator, Refused

__all__ = ["commands"]

NUMBER = click.IntRange(min=0, max=2**53)


def commands(operator: Operator) -> AppGroup:
    """The commands of one application."""
    group = AppGroup("tidegate", help="Look after the rate limits of this application.")

    @group.command()
    def ping() -> None:
        """Ask the store for a decision. Fails with the reason where it does not decide."""
        _show(operator.ping())

    @group.command()
    def limits() -> None:
        """List the limits of every route."""
        _show(operator.limits())

    @group.command()
    @click.argument("actor")
    def status(actor: str) -> None:
        """Show what ACTOR, an address or what key returned, has left of each limit."""
        _show(operator.status(actor))

    @group.command()
    @click.option("--budget", type=NUMBER, default=BUDGET, show_default=True, help="The most keys that are looked at.")
    @click.option("--count", type=NUMBER, default=ROWS, show_default=True, help="The most actors that are shown.")
    def top(budget: int, count: int) -> None:
        """Show the actors that are closest to the limits."""
        _show(operator.top(budget, count))

    @group.command()
    @click.argument("actor")
    @click.option("--limit", "keys", multiple=True, metavar="KEY", help="Only the limit with this key; repeatable.")
    def reset(actor: str, keys: tuple[str, ...]) -> None:
        """Give ACTOR all of its limits back."""
        _show(operator.reset(actor, keys))

    @group.command()
    @click.confirmation_option(prompt="Remove the entries of all clients?")
    def clear() -> None:
        """Remove every entry of the limiter's namespace."""
        _show(operator.clear())

    return group


def _show(lines: Iterator[str]) -> None:
    try:
        for line in lines:
            click.echo(line)
    except Refused as error:
        raise click.ClickException(str(error)) from None
