"""The errors of this package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = [
    "ClosedError",
    "ConfigurationError",
    "Fault",
    "LimitError",
    "LimitsError",
    "StoreError",
    "TidegateError",
]


class TidegateError(Exception):
    """The base of all errors of this package.

    >>> from tidegate import Bucket, TidegateError
    >>> try:
    ...     Bucket("login", size=0)
    ... except TidegateError as error:
    ...     print(type(error).__name__)
    LimitError
    """


class LimitError(TidegateError, ValueError):
    """A bad definition, actor, cost, option or other argument; nothing was stored.

    >>> from tidegate import Bucket, LimitError
    >>> try:
    ...     Bucket("login", size=0)
    ... except LimitError as error:
    ...     print(error)
    ...     print(error.key, error.field, error.value)
    limit "login": size must be at least 1, got 0
    login size 0
    """

    key: str
    """The key of the limit, cut short where it is long; empty where none was given."""
    field: str
    """The argument at fault: ``size``, ``drip_rate``, ``cost``, ``timeout``, …

    In a mapping or a document it is the field as the wire form spells it: ``dripRate``.
    """
    value: str
    """The value at fault as text, cut short where it is long."""

    def __init__(self, message: str, key: str = "", field: str = "", value: str = "") -> None:
        super().__init__(message)
        self.key = key
        self.field = field
        self.value = value


# As many letters as the engine shows of a value.
LONGEST = 80


def refused(field: str, problem: str, given: object) -> LimitError:
    """The error of an argument, whose value is cut short where it is long: a client may have chosen it."""
    value = repr(given)
    value = value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
    return LimitError(f"{field} {problem}, got {value}", "", field, value)


class Fault(NamedTuple):
    """One error in a document of limits.

    >>> from tidegate import Limits, LimitsError
    >>> try:
    ...     Limits.from_text('{"login": {"type": "bucket", "size": 0}}', "json")
    ... except LimitsError as error:
    ...     print(error.errors[0].path, "|", error.errors[0].message)
    login.size | limit "login": size must be at least 1, got 0
    """

    path: str
    """Its path in the document, such as ``limits.login.size``; empty for the document as a whole."""
    message: str
    """The error, without its path."""
    line: int | None
    """The line of a syntax error, counted from 1."""
    column: int | None
    """The column of a syntax error, counted from 1."""


class LimitsError(TidegateError, ValueError):
    r"""A bad document of limits; ``str()`` shows all errors in it.

    >>> from tidegate import Limits, LimitsError
    >>> try:
    ...     Limits.from_text("api: 10/fortnight\nlogin: 5", "yaml")
    ... except LimitsError as error:
    ...     print([fault.path for fault in error.errors])
    ['api', 'login']
    """

    errors: tuple[Fault, ...]
    """All errors, in the order of the document; at least one."""

    def __init__(self, message: str, errors: Iterable[tuple[str, str, int | None, int | None]] = ()) -> None:
        super().__init__(message)
        self.errors = tuple(Fault(*fault) for fault in errors)


class StoreError(TidegateError, ConnectionError):
    """A shared store did not decide a call of a limiter with ``on_error="raise"``. The store in memory always decides.

    >>> from tidegate import Bucket, Limiter, StoreError
    >>> limiter = Limiter("redis://127.0.0.1:1", on_error="raise")
    >>> try:
    ...     limiter.limit(Bucket("login", size=10), "ada")
    ... except StoreError as error:
    ...     print(error.server, error.failure in {"unreachable", "unavailable"})
    127.0.0.1:1 True
    """

    failure: str
    """Its kind: ``timeout``, ``unavailable``, ``unreachable``, ``disconnected``, ``not-ready``, ``read-only``,
    ``out-of-memory``, ``denied``, ``moving``, ``unreplicated`` or ``other``.

    With ``unavailable`` the circuit breaker was open: the server had failed before, as when the limiter connected, so
    the call was not sent to it. ``cause`` is the error of that time."""
    server: str
    """The server that did not decide; empty if that is not known."""
    reason: str
    """The reason, in words."""
    cause: str | None
    """The error of the server or the system, such as ``NOAUTH Authentication required.``; ``None`` without one."""
    may_have_happened: bool
    """True if the store may have charged the call all the same: do not repeat it without a check."""

    def __init__(
        self,
        message: str = "the store did not decide",
        failure: str = "other",
        server: str = "",
        reason: str = "",
        cause: str | None = None,
        may_have_happened: bool = False,
    ) -> None:
        super().__init__(message)
        self.failure = failure
        self.server = server
        self.reason = reason
        self.cause = cause
        self.may_have_happened = may_have_happened


class ConfigurationError(TidegateError, RuntimeError):
    """A request that cannot be limited because of a mistake in how the application is set up.

    >>> from tidegate import ConfigurationError
    >>> error = ConfigurationError("the request has no client address", "no-client-address")
    >>> error.code
    'no-client-address'
    """

    code: str
    """The mistake, such as ``no-client-address``."""
    page: str
    """The URL of its page in the documentation."""

    def __init__(self, message: str, code: str = "", page: str = "") -> None:
        super().__init__(message)
        self.code = code
        # Here, because the engine's module loads this one.
        from ._tidegate import _mistake_page

        self.page = page or (_mistake_page(code) if code else "")


class ClosedError(TidegateError, RuntimeError):
    """A call of a limiter after its ``close``.

    >>> from tidegate import Bucket, ClosedError, Limiter
    >>> with Limiter() as limiter:
    ...     _ = limiter.limit(Bucket("login", size=10), "ada")
    >>> try:
    ...     limiter.limit(Bucket("login", size=10), "ada")
    ... except ClosedError as error:
    ...     print(error)
    this limiter is closed
    """

    def __init__(self, message: str = "this limiter is closed") -> None:
        super().__init__(message)
