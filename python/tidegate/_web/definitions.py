"""Definitions from what a user writes: a definition, a text, a mapping, or a list of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from .._errors import LimitError
from .._tidegate import Limit

__all__ = ["Definitions", "Written"]

Written: TypeAlias = str | Limit | Mapping[str, object]
"""One limit as a user writes it; a text may hold several, with ``;`` between them."""

# Routes whose limits are kept compiled. Templates are few; more of them than this are made from paths by mistake.
MOST_ROUTES = 4096


class Definitions:
    """Limits that are checked once, with a key for each text.

    A text has no key. It gets ``name`` where one is given, else the route's template with the text behind it: two
    routes with the same text are limited apart, and two texts of one route too.
    """

    __slots__ = ("_by_route", "_named", "_suffix", "_texts", "checked", "counts_blocked")

    checked: tuple[Limit, ...]
    """The limits, with the keys that they have without a route."""

    def __init__(self, field: str, limits: Written | Sequence[Written], name: str | None, suffix: str = "") -> None:
        self._suffix = suffix
        self._by_route: dict[str, tuple[Limit, ...]] = {}
        named: list[Limit] = []
        texts: list[str] = []
        for limit in _listed(field, limits):
            if isinstance(limit, str):
                texts += [" ".join(text.split()) for text in limit.split(";")]
            else:
                made = limit if isinstance(limit, Limit) else Limit.from_dict(limit)
                named.append(self._renamed(made) if suffix else made)
        if texts and name is not None:
            named += Limit.parse_all(name + suffix, "; ".join(texts))
            texts = []
        self._named = tuple(named)
        self._texts = tuple(texts)
        self.checked = self._named + tuple(Limit.parse(text or field, text) for text in texts)
        if not self.checked:
            raise LimitError(f"{field} must hold at least one limit, got {limits!r}", "", field, repr(limits))
        self.counts_blocked = any(limit.to_dict().get("countBlocked") for limit in self.checked)

    def _renamed(self, limit: Limit) -> Limit:
        """The same limit with entries of its own."""
        return Limit.from_dict({**limit.to_dict(), "key": limit.key + self._suffix})

    def of(self, route: str) -> tuple[Limit, ...]:
        """The limits of requests to the route with this template."""
        if not self._texts:
            return self._named
        known = self._by_route.get(route)
        return self._made(route) if known is None else known

    def _made(self, route: str) -> tuple[Limit, ...]:
        made = [Limit.parse(f"{route} {text}{self._suffix}", text) for text in self._texts]
        if len(self._by_route) >= MOST_ROUTES:
            self._by_route.clear()
        limits = self._by_route[route] = (*self._named, *made)
        return limits

    def __str__(self) -> str:
        return ", ".join([*(limit.key for limit in self._named), *self._texts])


def _listed(field: str, limits: Written | Sequence[Written]) -> Sequence[Written]:
    if isinstance(limits, str | Limit | Mapping):
        return [limits]
    if isinstance(limits, Sequence) and not isinstance(limits, bytes):
        for limit in limits:
            if not isinstance(limit, str | Limit | Mapping):
                raise _mistyped(field, limit)
        return limits
    raise _mistyped(field, limits)


def _mistyped(field: str, given: object) -> LimitError:
    wanted = "a limit, a text such as '100/minute', a mapping in the wire form, or a list of them"
    return LimitError(f"{field} must be {wanted}, got {given!r}", "", field, repr(given))
