"""Commands about an application's limits, in the form that all frameworks share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from .._errors import ConfigurationError, LimitError, StoreError
from .._tidegate import Limit
from .definitions import Asked
from .guard import Guard
from .room import Room

T = TypeVar("T")

VERBS = ("ping", "limits", "status", "top", "reset", "clear")
"""The commands: methods of an operator, whose documentation and parameters are theirs."""
HELP = {
    "actor": "An address, or what key returned.",
    "keys": "Only the limit with this key; repeatable.",
    "budget": "The most keys that are looked at.",
    "count": "The most actors that are shown.",
}
MOST = 2**53
FUNCTION = "limits that a function of the request returns"
CLEAR = "Remove the entries of all clients?"


class Refused(Exception):  # noqa: N818
    """A command that cannot be carried out, with a sentence for a person."""


class Place(NamedTuple):
    """A route, or an application, and its limits, each with the name of its place."""

    title: str
    guards: Sequence[tuple[Guard[Any], str]]


class Operator:
    """The commands of one application and store; each yields lines to be shown."""

    def __init__(self, room: Room[Any], places: Callable[[], Sequence[Place]]) -> None:
        self.room = room
        self.store = room.store
        self.places = places

    def ping(self) -> Iterator[str]:
        """Ask the store for a decision. Fails with the reason where it does not decide."""
        health = _asked(self.store.sync.ping)
        yield from (f"warning: {warning}" for warning in health.warnings)
        yield f"{self.store!r} decides calls"

    def limits(self) -> Iterator[str]:
        """List the limits of every route."""
        for place in self.places():
            yield place.title
            for guard, name in place.guards:
                for limit in guard.definitions(name) or [None]:
                    yield f"  {str(limit.explain()).splitlines()[0] if limit else FUNCTION}"
            if not place.guards:
                yield "  no limit"

    def status(self, actor: str) -> Iterator[str]:
        """Show what ACTOR, an address or what key returned, has left of each limit."""
        self._check_shared()
        for check in self._checks(actor):
            yield str(_asked(self.store.sync.explain, *check))

    def top(self, budget: int = 10_000, count: int = 20) -> Iterator[str]:
        """Show the actors that are closest to the limits."""
        self._check_shared()
        yield from _asked(self.store.sync._closest, self._known(), budget, count).splitlines()

    def reset(self, actor: str, keys: Sequence[str] = ()) -> Iterator[str]:
        """Give ACTOR all of its limits back."""
        self._check_shared()
        known = {limit.key: limit for limit, *_ in self._checks(actor)}
        for key in keys:
            if key not in known:
                raise Refused(f"no limit has the key {key!r}; there are {', '.join(known) or 'none'}")
        chosen = [limit for key, limit in known.items() if not keys or key in keys]
        if chosen:
            _asked(self.store.sync.reset, chosen, self._actor(actor))
        yield f"{len(chosen)} limits of {actor} are reset"

    def clear(self) -> Iterator[str]:
        """Remove every entry of the limiter's namespace."""
        self._check_shared()
        yield f"{_asked(self.store.sync.clear)} entries are removed"

    def _check_shared(self) -> None:
        if not self.store.shared:
            raise Refused("the store is the memory of the server's process, which no command can reach")

    def _known(self) -> list[Limit]:
        """Every limit that is known without a request, once."""
        found = (limit for place in self.places() for guard, name in place.guards for limit in guard.definitions(name))
        return list(dict.fromkeys(found))

    def _checks(self, actor: str) -> list[Asked]:
        """The check of every limit that is known without a request, once: with the overrides of its document."""
        name = self._actor(actor)
        found = (check for place in self.places() for guard, at in place.guards for check in guard.known(at, name))
        return list(dict.fromkeys(found))

    def _actor(self, text: str) -> str:
        """The actor that a client's address stands for; other actors as they are."""
        try:
            return self.room.gate.client(text)
        except ConfigurationError:
            return text


def _asked(call: Callable[..., T], *given: Any) -> T:
    """The answer of a store; an error that a person can read where there is none."""
    try:
        return call(*given)
    except (StoreError, LimitError) as error:
        raise Refused(str(error)) from None
