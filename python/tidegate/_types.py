"""What calls take, for type checkers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypeAlias, TypedDict

from ._tidegate import Limit

__all__ = ["Check", "Choice", "Definition", "Definitions", "Duration", "Limited", "LimiterOptions"]

Duration: TypeAlias = float | timedelta
"""Milliseconds, or a ``timedelta``."""

Definition: TypeAlias = Limit | Mapping[str, object]
"""A definition object, or a mapping in the wire form."""

Definitions: TypeAlias = Definition | Sequence[Definition]
"""A definition, or a list or tuple of them, which are decided together: all or nothing."""

Choice: TypeAlias = Callable[[Any], Definitions]
"""A function that chooses, by the ``context`` that the call is given."""

Limited: TypeAlias = Definition | Choice | Sequence[Definition | Choice]
"""What a call takes for a limit."""

_Limit: TypeAlias = Definition | Choice

Check: TypeAlias = tuple[_Limit, str] | tuple[_Limit, str, int] | tuple[_Limit, str, int, float]
"""A limit and who is being limited, then perhaps a cost, then perhaps a factor."""


class LimiterOptions(TypedDict, total=False):
    """What a limiter may be given beside its URL; ``None`` is as if it were not. See ``Limiter``."""

    namespace: str | None
    """What the names of all keys begin with."""
    timeout: float | timedelta | None
    """How long a decision may take, in seconds."""
    on_error: Literal["local", "allow", "deny", "raise"] | None
    """What a call is answered that the store cannot decide."""
    max_entries: int | None
    """How many entries this process keeps at most."""
    deny_cache: float | timedelta | None
    """For how long a denial is remembered, in seconds."""
    wait_replicas: int | None
    """How many replicas have to acknowledge a charge."""
    strategy: Literal["script", "transactions"] | None
    """How the server is made to decide."""
    layout: Literal["own", "sharkey"] | None
    """What entries are on the server."""
    username: str | None
    """The user, in place of the URL's."""
    password: str | Callable[[], str] | None
    """The password, in place of the URL's, or a function that returns it."""
    sentinel_username: str | None
    """The user for sentinels."""
    sentinel_password: str | Callable[[], str] | None
    """The password for sentinels, or a function that returns it."""
    ssl_ca_certs: str | PathLike[str] | None
    """A PEM file of the authorities to trust."""
    ssl_certfile: str | PathLike[str] | None
    """A PEM file of the client's certificate."""
    ssl_keyfile: str | PathLike[str] | None
    """A PEM file of its key."""
    ssl_cert_reqs: Literal["required", "optional", "none"] | None
    """``"none"`` takes any certificate for the server's own."""
    clock: Callable[[], float] | None
    """A function that returns seconds since the epoch, by which each call is decided."""
