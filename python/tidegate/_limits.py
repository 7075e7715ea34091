"""Documents of named limits, and those that change while the program runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Literal

from ._errors import LimitsError, refused
from ._tidegate import Limit, _Document, _limits_from_dict, _load_limits, _read_limits, _Watched
from ._watching import start

__all__ = ["Limits", "SelectedLimits", "WatchedLimits"]


class Limits(Mapping[str, Limit]):
    """Limits by their names, read from a JSON, TOML or YAML document and checked as a whole; a read-only mapping.

    Each name has a limit as text (see ``Limit.parse``) or an object in the wire form, whose ``key`` is the name unless
    it has another. The names are at the top of the document, or in a table ``limits`` of their own. No two limits may
    have the same key, and each has to limit something. Beside them, ``overrides`` may have other allowances for single
    actors: see ``check``.

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

    __slots__ = ("__weakref__", "_document")
    _document: _Document

    def __new__(cls) -> Limits:
        raise TypeError("limits are read: Limits.load(path), Limits.from_text(text, format) or Limits.from_dict(named)")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Limits:
        """Read a file, in the format that its name ends with: ``.json``, ``.toml``, ``.yaml`` or ``.yml``.

        Raises ``LimitsError`` with all that is wrong: with the file, its syntax, or the definitions in it.
        """
        return cls._of(_load_limits(os.fsdecode(path)))

    @staticmethod
    def watch(
        source: str | os.PathLike[str],
        *,
        every: float | timedelta = 2.0,
        on_change: Callable[[WatchedLimits], object] | None = None,
        on_error: Callable[[LimitsError], object] | None = None,
    ) -> WatchedLimits:
        """Read a file now, and look every so many seconds if it is another one; see ``WatchedLimits``.

        A text under a key of Redis or Valkey is watched too: the URL of the server, a ``/``, and the key, which ends as
        the name of a file, such as ``"redis://localhost:6379/0/limits.toml"``. In a key ``/``, ``?`` and ``%`` are
        percent-encoded.

        ``on_change`` is called when other limits hold, ``on_error`` when a document cannot be read or is wrong, once
        for each mistake, in the thread that looks. Both are logged as well. Raises ``LimitsError`` where the first
        document is wrong, and ``LimitError`` where ``every`` is not above 0.

        >>> import os, tempfile
        >>> from tidegate import Limits
        >>> path = os.path.join(tempfile.mkdtemp(), "limits.toml")
        >>> with open(path, "w") as file:
        ...     _ = file.write("api = '100/minute'")
        >>> with Limits.watch(path) as limits:
        ...     limits["api"]
        TokenBucket('api', count=100, period=60000)
        """
        return WatchedLimits._started(source, every, on_change, on_error)

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
    def _of(cls, document: _Document) -> Limits:
        limits: Limits = object.__new__(cls)
        limits._document = document
        return limits

    def check(self, name: str, actor: str, cost: int = 1) -> tuple[Limit, str, int, float]:
        """The check of a limit for an actor, for ``limit_all`` and the like.

        It has the definition and the factor of the first override that concerns both, or else those of the limit.
        Raises ``KeyError`` where no limit has this name.

        >>> from tidegate import Limiter, Limits
        >>> limits = Limits.from_text('''
        ... api = "100/minute"
        ...
        ... [[overrides]]
        ... pattern = "team-*"
        ... limit = "api"
        ... definition = "5000/minute"
        ... ''', "toml")
        >>> limiter = Limiter()
        >>> limiter.limit_all([limits.check("api", "ada")]).remaining
        99
        >>> limiter.limit_all([limits.check("api", "team-7")]).remaining
        4999
        """
        limit, factor = self._document.find(name, actor)
        return (limit, actor, cost, factor)

    @property
    def overrides(self) -> tuple[dict[str, Any], ...]:
        """The overrides in the order of the document, each as a mapping in the wire form.

        >>> from tidegate import Limits
        >>> Limits.from_dict({"api": "9/s", "overrides": [{"actor": "acme", "factor": 0.5}]}).overrides
        ({'actor': 'acme', 'factor': 0.5},)
        """
        return tuple(self._wire().get("overrides", ()))

    def select(self, *names: str) -> SelectedLimits:
        """Some of these limits, for the ``limits`` of a module for a web framework.

        A document that is watched has to have them from now on: one without them is wrong. Raises ``KeyError`` where
        there is no limit of one of the names.

        >>> from tidegate import Limits
        >>> limits = Limits.from_dict({"api": "100/minute", "login": "5/minute"})
        >>> limits.select("login")
        <SelectedLimits login>
        """
        for name in names:
            self[name]
        return SelectedLimits(self, names)

    def _found(self, actor: str) -> list[tuple[Limit, float]]:
        """The limits and factors of an actor."""
        document = self._document
        return [document.find(name, actor) for name in document.named]

    def _wire(self) -> dict[str, Any]:
        import json

        wire: dict[str, Any] = json.loads(self._document.to_json())
        return wire

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        from ._pydantic import wire_schema

        def wire(limits: Limits) -> dict[str, Any]:
            document = limits._wire()
            return document if "overrides" in document else document["limits"]

        return wire_schema(cls._validated, wire)

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
        return self._document.named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._document.named)

    def __len__(self) -> int:
        return len(self._document.named)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Limits):
            return self._document.named == other._document.named and self.overrides == other.overrides
        return not self._document.has_overrides and Mapping.__eq__(self, other)

    # As of every mapping that is compared by its content.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Limits {self._document.named!r}>"

    def __reduce__(self) -> Any:
        return (Limits.from_text, (self._document.to_json(), "json"))


class SelectedLimits:
    """Some limits of a document, as ``Limits.select`` returns them.

    >>> from tidegate import Limits
    >>> selected = Limits.from_dict({"api": "100/minute", "login": "5/minute"}).select("login")
    >>> list(selected), selected.values()
    (['login'], [TokenBucket('login', count=5, period=60000)])
    """

    __slots__ = ("_limits", "_names")

    def __init__(self, limits: Limits, names: tuple[str, ...]) -> None:
        self._limits = limits
        self._names = names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def values(self) -> list[Limit]:
        """The limits, as they stand now."""
        named = self._limits._document.named
        return [named[name] for name in self._names]

    def _found(self, actor: str) -> list[tuple[Limit, float]]:
        """The limits and factors of an actor."""
        document = self._limits._document
        return [document.find(name, actor) for name in self._names]

    def __repr__(self) -> str:
        return f"<SelectedLimits {', '.join(self._names)}>"


class WatchedLimits(Limits):
    """Limits of a document that may change while the program runs: always those that hold now.

    The document is read again and again. Where it is another one, it is checked as a whole, and all of its limits and
    overrides hold from then on. Where it is wrong, those before it stay. Units that were used stay used. A text that is
    new is read twice, 100 ms apart, before it counts, so that a half-written file does not.

    A daemon thread looks, which ``close`` ends, and which begins anew in a forked child. A pickle has the limits that
    hold now, and is not watched.

    >>> import os, tempfile
    >>> from tidegate import Limits
    >>> path = os.path.join(tempfile.mkdtemp(), "limits.json")
    >>> with open(path, "w") as file:
    ...     _ = file.write('{"api": "100/minute"}')
    >>> limits = Limits.watch(path)
    >>> with open(path, "w") as file:
    ...     _ = file.write('{"api": "500/minute"}')
    >>> limits.reload(), limits["api"]
    (True, TokenBucket('api', count=500, period=60000))
    >>> limits.close()
    """

    __slots__ = ("_closed", "_engine", "_name", "_needed", "_of_parent", "_on_change", "_on_error", "_source", "_told")
    _closed: bool
    _engine: _Watched | None
    """The engine's part; none in a forked child until it is needed: its locks may be held by a thread of the parent."""
    _name: str
    _needed: set[str]
    _of_parent: _Watched | None
    """The engine's part of the parent, which a child never touches, nor frees."""
    _on_change: Callable[[WatchedLimits], object] | None
    _on_error: Callable[[LimitsError], object] | None
    _source: tuple[str | os.PathLike[str], float]
    _told: str
    """The mistake that was told last."""

    @classmethod
    def _started(
        cls,
        source: str | os.PathLike[str],
        every: float | timedelta,
        on_change: Callable[[WatchedLimits], object] | None,
        on_error: Callable[[LimitsError], object] | None,
    ) -> WatchedLimits:
        seconds = every.total_seconds() if isinstance(every, timedelta) else every
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            raise refused("every", "must be above 0 seconds", every)
        for name, function in (("on_change", on_change), ("on_error", on_error)):
            if function is not None and not callable(function):
                raise refused(name, "must be a function", function)
        watched: WatchedLimits = object.__new__(cls)
        watched._source = (os.fsdecode(source), float(seconds))
        watched._engine = engine = _Watched(*watched._source)
        watched._of_parent = None
        watched._name, watched._document = engine.name, engine.current()
        watched._needed, watched._told = set(), ""
        watched._on_change, watched._on_error = on_change, on_error
        watched._closed = False
        start(watched)
        return watched

    def reload(self) -> bool:
        """Read the document now, without waiting for the next look; true if other limits hold now.

        Raises ``LimitsError`` where it is wrong; the limits before it still hold.
        """
        engine, is_other = self._watched()
        return self._take(engine.reload()) or is_other

    def close(self) -> None:
        """Look no more; the limits stay as they are."""
        self._closed = True

    def select(self, *names: str) -> SelectedLimits:
        """Some of these limits, which every later document has to have; see ``Limits.select``."""
        selected = super().select(*names)
        self._needed.update(names)
        if self._engine is not None:
            for name in names:
                self._engine.need(name)
        return selected

    def _forked(self) -> None:
        """Begin anew in a forked child."""
        self._of_parent = self._of_parent or self._engine
        self._engine = None

    def _watched(self) -> tuple[_Watched, bool]:
        """The engine's part of this process, and true where it was made just now and has found other limits."""
        engine = self._engine
        if engine is not None:
            return engine, False
        engine = _Watched(*self._source)
        for name in self._needed:
            engine.need(name)
        self._engine = engine
        current = engine.current()
        return engine, current.to_json() != self._document.to_json() and self._take(current)

    def _look(self) -> float | None:
        """Look once; returns the seconds until the next look."""
        if self._closed:
            return None
        try:
            engine, _ = self._watched()
            self._take(engine.look())
        except LimitsError as error:
            # A child that has not begun yet finds the same mistake at each look.
            if self._engine is not None or self._told != str(error):
                self._told = str(error)
                extra = {"event": "limits-wrong", "source": self._name}
                _logger().warning("the limits before still hold: %s", error, extra=extra)
                self._call(self._on_error, error)
        return self._source[1] if self._engine is None else self._engine.pause

    def _take(self, document: _Document | None) -> bool:
        if document is None:
            return False
        self._document = document
        extra = {"event": "limits-changed", "source": self._name}
        _logger().info("%s: other limits hold now", self._name, extra=extra)
        self._call(self._on_change, self)
        return True

    @staticmethod
    def _call(function: Callable[[Any], object] | None, argument: object) -> None:
        if function is None:
            return
        try:
            function(argument)
        except Exception:
            # Of the program; the next change may pass it.
            sys.excepthook(*sys.exc_info())

    def __enter__(self) -> WatchedLimits:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<WatchedLimits of {self._name}: {self._document.named!r}>"


def _logger() -> Any:
    """The logger. It is imported where there is something to log: that takes a fifth of an import of all else."""
    import logging

    return logging.getLogger("tidegate")
