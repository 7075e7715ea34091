"""Definitions from what a user writes: a definition, a text, a mapping, or a list of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from .._errors import refused
from .._limits import Limits, SelectedLimits
from .._tidegate import _APP, Limit

Written: TypeAlias = str | Limit | Mapping[str, object]
"""One limit as a user writes it; a text may hold several, with ``;`` between them."""

Asked: TypeAlias = tuple[Limit, str, int, float]
"""A limit, its actor, the cost and the factor."""

# Places whose limits are kept compiled; programs have few.
MOST_PLACES = 4096


class Definitions:
    """Limits that are checked once, with a key for each text.

    A text has no key. It gets ``name`` where one is given, else the name of its place: a route or an application. Of
    several texts each has its period behind that, as ``Limit.parse_all`` says.
    """

    def __init__(self, field: str, limits: Written | Sequence[Written], name: str | None, suffix: str = "") -> None:
        self._suffix = suffix
        named: list[Limit] = []
        texts: list[str] = []
        for limit in _listed(field, limits):
            if isinstance(limit, str):
                # As it was written: an error says at which character it is wrong.
                Limit.parse_all(_APP if name is None else name, limit)
                texts += [" ".join(text.split()) for text in limit.split(";")]
            else:
                made = limit if isinstance(limit, Limit) else Limit.from_dict(limit)
                named.append(self._renamed(made))
        self._texts = "; ".join(texts)
        self.has_texts = bool(texts)
        self.derives = bool(texts) and name is None
        """There are texts whose key is the name of their place."""
        if texts and name is not None:
            named += self._read(name)
        # What is listed twice is asked for once.
        self._named = tuple(dict.fromkeys(named))
        self._of_place = lru_cache(MOST_PLACES)(lambda place: (*self._named, *self._read(place)))
        self.checked = self.of(_APP)
        """The limits, with keys as if they were those of a whole application."""
        self.holds = any(limit._holds for limit in self.checked)
        """Some are of type concurrency, whose units are held until a request has ended."""
        if not self.checked:
            raise refused(field, "must hold at least one limit", limits)
        if len({limit.key for limit in named}) < len(set(named)):
            raise refused(field, "must not define one key in two ways", limits)

    def _read(self, name: str) -> list[Limit]:
        return [self._renamed(limit) for limit in Limit.parse_all(name, self._texts)]

    def _renamed(self, limit: Limit) -> Limit:
        """The same limit, with entries of its own where it is tried beside another."""
        return Limit.from_dict({**limit.to_dict(), "key": limit.key + self._suffix}) if self._suffix else limit

    def of(self, place: str) -> tuple[Limit, ...]:
        return self._of_place(place) if self.derives else self._named

    def checks(self, place: str, actor: str, cost: int, factor: float) -> list[Asked]:
        return [(limit, actor, cost, factor) for limit in self.of(place)]

    def __str__(self) -> str:
        texts = self._texts.replace("; ", ", ") if self.derives else ""
        return ", ".join(filter(None, [*(limit.key for limit in self._named), texts]))


class Documented:
    """The limits of a document, which depend on the actor and may change."""

    derives = has_texts = False

    def __init__(self, document: Limits | SelectedLimits) -> None:
        self._document = document
        self.checked = self.of("")
        self.holds = any(limit._holds for limit in self.checked)

    def of(self, _place: str) -> tuple[Limit, ...]:
        """The limits, as they stand now."""
        return tuple(self._document.values())

    def checks(self, _place: str, actor: str, cost: int, factor: float) -> list[Asked]:
        found = self._document._found(actor)
        return [(limit, actor, cost, factor if scale == 1 else factor * scale) for limit, scale in found]

    def __str__(self) -> str:
        return ", ".join(self._document)


Known: TypeAlias = Definitions | Documented


def _listed(field: str, limits: Written | Sequence[Written]) -> Sequence[Written]:
    listed: Sequence[Any] = limits if isinstance(limits, Sequence) and not isinstance(limits, str | bytes) else [limits]
    for limit in listed:
        # A document is a mapping too, but of names.
        if not isinstance(limit, str | Limit | Mapping) or isinstance(limit, Limits):
            wanted = "a limit, a text such as '100/minute', a mapping in the wire form, or a list of them"
            raise refused(field, f"must be {wanted}", limit)
    return listed
