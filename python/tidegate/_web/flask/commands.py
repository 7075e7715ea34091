"""``flask tidegate``: what an operator asks of an application's limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import click
from flask import Request
from flask.cli import AppGroup

from ..._errors import ConfigurationError, StoreError
from ..._tidegate import Limit
from ..guard import Guard
from .room import FlaskRoom, Plan

__all__ = ["commands"]

T = TypeVar("T")
Routes = Callable[[], Sequence[Plan]]


def commands(room: FlaskRoom, routes: Routes) -> AppGroup:
    """The commands of one application."""
    group = AppGroup("tidegate", help="Look after the rate limits of this application.")

    @group.command()
    def ping() -> None:
        """Ask the store for a decision. Fails with the reason where it does not decide."""
        health = _asked(room.store.sync.ping)
        for warning in health.warnings:
            click.echo(f"warning: {warning}")
        click.echo(f"{room.store!r} decides calls")

    @group.command()
    def limits() -> None:
        """List the limits of every route."""
        for plan in routes():
            click.echo(plan.route or "any other path")
            for guard in plan.guards:
                for limit in _of(plan, guard) or [None]:
                    click.echo(f"  {_first_line(limit) if limit else 'limits that a function of the request returns'}")
            if not plan.guards:
                click.echo("  no limit")

    @group.command()
    @click.argument("actor")
    def status(actor: str) -> None:
        """Show what ACTOR, an address or what key returned, has left of each limit."""
        _is_shared(room)
        for limit in _limits(routes()):
            click.echo(_asked(partial(room.store.sync.explain, limit, _actor(room, actor))))

    @group.command()
    @click.argument("actor")
    @click.option("--limit", "keys", multiple=True, metavar="KEY", help="Only the limit with this key; repeatable.")
    def reset(actor: str, keys: tuple[str, ...]) -> None:
        """Give ACTOR all of its limits back."""
        _is_shared(room)
        known = {limit.key: limit for limit in _limits(routes())}
        for key in keys:
            if key not in known:
                raise click.ClickException(f"no limit has the key {key!r}; there are {', '.join(known) or 'none'}")
        chosen = [limit for key, limit in known.items() if not keys or key in keys]
        if chosen:
            _asked(partial(room.store.sync.reset, chosen, _actor(room, actor)))
        click.echo(f"{len(chosen)} limits of {actor} are reset")

    @group.command()
    @click.confirmation_option(prompt="Remove the entries of all clients?")
    def clear() -> None:
        """Remove every entry of the limiter's namespace."""
        _is_shared(room)
        click.echo(f"{_asked(room.store.sync.clear)} entries are removed")

    return group


def _asked(call: Callable[[], T]) -> T:
    """The answer of a store; an error that a person can read where there is none."""
    try:
        return call()
    except StoreError as error:
        raise click.ClickException(str(error)) from None


def _is_shared(room: FlaskRoom) -> None:
    if not room.store.shared:
        raise click.ClickException("the store is the memory of the server's process, which no command can reach")


def _of(plan: Plan, guard: Guard[Request]) -> tuple[Limit, ...]:
    return guard.definitions(plan.route or FlaskRoom.kind)


def _limits(plans: Sequence[Plan]) -> list[Limit]:
    """Every limit that is known without a request, once."""
    return list(dict.fromkeys(limit for plan in plans for guard in plan.guards for limit in _of(plan, guard)))


def _actor(room: FlaskRoom, text: str) -> str:
    """The actor that a client's address stands for; other actors as they are."""
    try:
        return room.gate.client(text)
    except ConfigurationError:
        return text


def _first_line(limit: Limit) -> str:
    return str(limit.explain()).partition("\n")[0]
