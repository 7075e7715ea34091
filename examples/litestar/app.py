"""A Litestar app behind limits, with the ASGI middleware: ``uvicorn app:app``."""

import os

from litestar import Litestar, get
from litestar.middleware import DefineMiddleware

from tidegate import AsyncLimiter
from tidegate.asgi import RateLimitMiddleware


@get("/")
async def hello() -> dict[str, str]:
    """Limited for each client."""
    return {"hello": "world"}


@get("/health", sync_to_thread=False)
def health() -> str:
    """Not limited."""
    return "ok"


limiter = AsyncLimiter(os.environ.get("STORE", "memory://"), timeout=float(os.environ.get("STORE_TIMEOUT", "0.1")))
limited = DefineMiddleware(
    RateLimitMiddleware,
    limiter=limiter,
    limits=["5/minute", "100/hour"],
    skip=lambda request: request.path == "/health",
)
app = Litestar([hello, health], middleware=[limited])
