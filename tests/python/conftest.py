"""What every test may ask for."""

from __future__ import annotations

import pytest

from calls import AnyLimiter
from tidegate import AsyncLimiter, Limiter


@pytest.fixture(params=[Limiter, AsyncLimiter])
def limiter(request: pytest.FixtureRequest) -> AnyLimiter:
    """A new limiter of each kind."""
    made: AnyLimiter = request.param()
    return made
