"""The headers of a response, read back."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ._errors import LimitError
from ._tidegate import _parse_headers

__all__ = ["RateLimitPolicy", "RateLimits", "parse_headers"]


class RateLimitPolicy(NamedTuple):
    """One policy, from ``RateLimit-Policy`` and ``RateLimit``. What the headers do not say is ``None``.

    >>> from tidegate import parse_headers
    >>> policy = parse_headers({"RateLimit-Policy": '"login";q=10;w=60', "RateLimit": '"login";r=9;t=6'}).policies[0]
    >>> policy.name, policy.quota, policy.window_ms, policy.remaining, policy.reset_ms
    ('login', 10, 60000, 9, 6000)
    """

    name: str | None = None
    """Its name; drafts before the 8th have none."""
    quota: int | None = None
    """Its quota (``q``)."""
    window_ms: int | None = None
    """The window of its quota in milliseconds (``w``)."""
    remaining: int | None = None
    """The units that are left (``r``, or ``a`` as the editors propose)."""
    reset_ms: int | None = None
    """Milliseconds until more is available (``t``, or ``w`` beside an ``a``)."""
    cost: int | None = None
    """The units that the request took (``c``, as the editors propose)."""
    unit: str | None = None
    """The unit of the quota (``qu``); requests unless it is named."""
    partition_key: str | None = None
    """The partition that the quota is for (``pk``), in base64."""


class RateLimits(NamedTuple):
    """The rate limits in the headers of a response; ``None`` for what they do not have.

    >>> from tidegate import parse_headers
    >>> limits = parse_headers({"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "0", "Retry-After": "2"})
    >>> limits.limit, limits.remaining, limits.retry_after_ms, limits.policies
    (10, 0, 2000, ())
    """

    policies: tuple[RateLimitPolicy, ...] = ()
    """The policies, in the order of the response."""
    limit: int | None = None
    """The size of the limit; with several policies, of the tightest one."""
    remaining: int | None = None
    """The units that are left; with several policies, of the tightest one."""
    reset_ms: int | None = None
    """Milliseconds until more is available."""
    full_reset_ms: int | None = None
    """Milliseconds until all of it is available, as ``X-RateLimit-Clear`` says."""
    retry_after_ms: int | None = None
    """Milliseconds to wait before the next request, as ``Retry-After`` says. It goes before all other times."""


def parse_headers(
    headers: Mapping[str, str] | Iterable[tuple[str | bytes, str | bytes]], *, now: float | None = None
) -> RateLimits:
    """Reads what the headers of a response say of rate limits, in any style that ``LimitInfo.headers`` writes.

    The headers of httpx, requests and aiohttp can be given as they are, and pairs of names and values. ``now`` is
    milliseconds since the epoch, the time of the system unless it is given: from it, or from the ``Date`` of the
    response, times that are epochs or dates are counted. What is malformed is passed over.

    >>> from tidegate import parse_headers
    >>> limits = parse_headers({"RateLimit": '"burst";r=0;t=17, "daily";r=640;t=87', "Retry-After": "17"})
    >>> limits.remaining, limits.retry_after_ms
    (0, 17000)
    >>> [(policy.name, policy.remaining) for policy in limits.policies]
    [('burst', 0), ('daily', 640)]
    """
    # Containers of headers have several lines of one name in `multi_items`, where there are any.
    items = getattr(headers, "multi_items", getattr(headers, "items", None))
    pairs: Any = headers if items is None else items()
    try:
        each = [(_text(name), _text(value)) for name, value in pairs]
    except (TypeError, ValueError) as error:
        kind = type(headers).__name__
        message = f"headers must be a mapping, or pairs of names and values, got an object of type {kind}"
        raise LimitError(message, "", "headers", kind) from error
    policies, *numbers = _parse_headers(each, time.time() * 1000 if now is None else now)
    return RateLimits(tuple(RateLimitPolicy(*policy) for policy in policies), *numbers)


def _text(given: str | bytes) -> str:
    if isinstance(given, bytes):
        return given.decode("latin-1")
    if not isinstance(given, str):
        raise TypeError(type(given).__name__)
    # A lone surrogate is malformed, and so passed over.
    return given.encode(errors="replace").decode()
