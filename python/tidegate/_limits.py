"""Documents of named limits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ._tidegate import Limit, _limits_from_dict, _load_limits, _read_limits

__all__ = ["Limits"]


class Limits(Mapping[str, Limit]):
    """Limits by their names, read from a JSON, TOML or YAML document and checked as a whole; a read-only mapping.

    Each name has a limit as text (see ``Limit.parse``) or an object in the wire form, whose ``key`` is the name unless
    it has another. The names are at the top of the document, or in a table ``limits`` of their own. No two limits may
    have the same key, and each has to limit something.

    >>> from tidegate import Limits
    >>> limits = Limits.from_text('''
    ... [limits]
    ... api = "100/minute burst 20"
    ... login = { type = "bucket", size = 10 }
    ... ''', "toml")
    >>> limits["api"]
    TokenBucket('api', count=100, period=60000, burst=20)
    >>> list(limits)
    ['api', 'login']
    """

    __slots__ = ("__weakref__", "_named")
    _named: dict[str, Limit]

    def __new__(cls) -> Limits:
        raise TypeError("limits are read: Limits.load(path), Limits.from_text(text, format) or Limits.from_dict(named)")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Limits:
        """Read a file, in the format that its name ends with: ``.json``, ``.toml``, ``.yaml`` or ``.yml``.

        Raises ``LimitsError`` with all that is wrong: with the file, its syntax, or the definitions in it.
        """
        return cls._of(_load_limits(path))

    @classmethod
    def from_text(cls, text: str, format: Literal["json", "toml", "yaml"]) -> Limits:
        """Read a document in this format.

        Raises ``LimitsError`` with all that is wrong: with the syntax, or else with the definitions.

        >>> from tidegate import Limits
        >>> Limits.from_text("api: 100/minute", "yaml")["api"].key
        'api'
        """
        return cls._of(_read_limits(text, format))

    @classmethod
    def from_dict(cls, named: Mapping[str, object]) -> Limits:
        """Read a document that is a mapping already, such as a section of a program's own settings.

        A name has what it may have in a file, or a definition object. Raises ``LimitsError`` with
        all that is wrong.

        >>> from tidegate import Bucket, Limits
        >>> limits = Limits.from_dict({"api": "100/minute", "login": Bucket("login", size=10)})
        >>> list(limits)
        ['api', 'login']
        """
        return cls._of(_limits_from_dict(named))

    @classmethod
    def _of(cls, named: dict[str, Limit]) -> Limits:
        limits: Limits = object.__new__(cls)
        limits._named = named
        return limits

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        from ._pydantic import wire_schema

        return wire_schema(cls._validated, lambda limits: {name: limit.to_dict() for name, limit in limits.items()})

    @classmethod
    def _validated(cls, value: Any) -> Limits:
        if isinstance(value, Limits):
            return value
        if isinstance(value, Mapping):
            return cls.from_dict(value)
        if not isinstance(value, str):
            raise ValueError("must be a mapping of names to limits")
        # As a variable of the environment holds it.
        return cls.from_text(value, "json")

    def __getitem__(self, name: str) -> Limit:
        return self._named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def __repr__(self) -> str:
        return f"<Limits {self._named!r}>"

    def __reduce__(self) -> Any:
        return (Limits._of, (self._named,))
