"""Calling either kind of limiter alike."""

from __future__ import annotations

import asyncio
from typing import Any

from tidegate import AsyncLimiter, Limiter

AnyLimiter = Limiter | AsyncLimiter


def done(answer: Any) -> Any:
    """The result of a call, whichever kind of limiter was called."""
    if not hasattr(answer, "__await__"):
        return answer

    async def wait() -> Any:
        return await answer

    return asyncio.run(wait())
