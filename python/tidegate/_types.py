"""Types of arguments, for type checkers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypeAlias, TypedDict

from ._tidegate import Limit

__all__ = ["Check", "Choice", "Costs", "Definition", "Definitions", "Duration", "Limited", "LimiterOptions"]

Duration: TypeAlias = float | timedelta
"""Milliseconds, or a ``timedelta``."""

Definition: TypeAlias = Limit | Mapping[str, object]
"""A definition object, or a mapping in the wire form."""

Definitions: TypeAlias = Definition | Sequence[Definition]
"""A definition, or a list or tuple of them, which are decided together: all or nothing."""

Choice: TypeAlias = Callable[[Any], Definitions]
"""A function that chooses definitions by the ``context`` of the call."""

Limited: TypeAlias = Definition | Choice | Sequence[Definition | Choice]
"""The ``limit`` of a call."""

Costs: TypeAlias = int | Sequence[int] | Mapping[str, int] | Mapping[int, int] | Mapping[str | int, int]
"""The actual cost of the only limit that holds nothing, of each check, or of some by their keys or positions."""

_Limit: TypeAlias = Definition | Choice

Check: TypeAlias = tuple[_Limit, str] | tuple[_Limit, str, int] | tuple[_Limit, str, int, float]
"""A limit and an actor, then perhaps a cost, then perhaps a factor."""


class LimiterOptions(TypedDict, total=False):
    """Options of a limiter; ``None`` is the default. See ``Limiter``."""

    namespace: str | None
    """Prefix of all keys."""
    timeout: float | timedelta | None
    """Longest time for a decision, in seconds."""
    on_error: Literal["local", "allow", "deny", "raise"] | None
    """Fallback for calls that the store does not decide in time."""
    max_entries: int | None
    """Most entries that this process keeps."""
    max_waiters: int | None
    """Most ``acquire`` that wait at the same time in this process."""
    deny_cache: float | timedelta | None
    """Longest time for which a denial is repeated without a call to the store, in seconds."""
    wait_replicas: int | None
    """Number of replicas that must acknowledge a charge."""
    strategy: Literal["script", "transactions"] | None
    """Means of a decision: a script, or transactions for servers without scripts."""
    layout: Literal["own", "sharkey"] | None
    """Layout of the entries on the server."""
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
    """``"none"`` accepts any certificate."""
    clock: Callable[[], float] | None
    """A function that returns seconds since the epoch, in place of the clock."""
