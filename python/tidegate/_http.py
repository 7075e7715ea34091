"""The part that modules for web frameworks share: the client, the headers, refusals, mistakes in the configuration."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Literal, TypeAlias, TypedDict

from ._drafts import Draft
from ._errors import ConfigurationError
from ._headers import RateLimitPolicy, RateLimits, parse_headers
from ._tidegate import _forget_mistakes as forget_mistakes
from ._tidegate import _Gate as Gate
from ._tidegate import _mistakes
from ._tidegate import _Refusal as Refusal

__all__ = [
    "MISTAKES",
    "ConfigurationError",
    "Gate",
    "GateOptions",
    "Network",
    "RateLimitPolicy",
    "RateLimits",
    "Refusal",
    "forget_mistakes",
    "parse_headers",
]

MISTAKES: dict[str, str] = dict(_mistakes())
"""The sentence of every mistake, by its code."""

Network: TypeAlias = str | IPv4Address | IPv4Network | IPv6Address | IPv6Network
"""An address, a network, or one of ``"loopback"``, ``"linklocal"``, ``"uniquelocal"`` and ``"unix"``."""


class GateOptions(TypedDict, total=False):
    """The options that all frameworks have in common; ``None`` counts as not given."""

    trusted_proxies: int | Network | Sequence[Network] | None
    """The proxies in front of the application: their number, or their networks."""
    forwarded_header: str | None
    """The header in which they write addresses, ``"x-forwarded-for"`` by default; ``"forwarded"`` is RFC 7239's."""
    ipv6_prefix: int | None
    """The bits of an IPv6 address that make one client, 64 by default."""
    headers: Literal["x", "common", "ietf", "both", "none"] | None
    """The style of the headers."""
    draft: Draft | None
    """The draft of the IETF's fields."""
    reset: Literal["seconds", "epoch"] | None
    """The form of ``X-RateLimit-Reset`` in the style ``"common"``."""
    status: int | None
    """The status of a refusal, 429 by default."""
    body: Literal["auto", "problem", "json", "text", "none"] | None
    """The body of a refusal; ``"auto"`` follows the request's ``Accept``."""
    silence: str | Sequence[str] | None
    """Codes of mistakes that are not logged."""
    scope: str | None
    """The name of the limiter, for which each mistake is logged once."""


_logger = logging.getLogger("tidegate")


def _warn(code: str, text: str) -> None:
    _logger.warning("%s", text, extra={"tidegate_code": code})
