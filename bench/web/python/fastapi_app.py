"""One hello-world for FastAPI, limited by ``LIMITED``: nothing, our middleware, our dependency, or slowapi."""

from __future__ import annotations

import os
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response
from slowapi import Limiter, _rate_limit_exceeded_handler
from slowapi.errors import RateLimitExceeded
from slowapi.util import get_remote_address
from starlette.requests import HTTPConnection

from tidegate import LimitInfo
from tidegate.fastapi import RateLimit, RateLimitMiddleware

# Large enough that nothing is denied: a denial is a shorter path for all.
MANY = "1000000/second"
STORE = os.environ["STORE"]

app = FastAPI()


def bare() -> None:
    @app.get("/")
    async def hello() -> dict[str, str]:
        return {"hello": "world"}


async def nothing(_connection: HTTPConnection) -> None:
    """A dependency that does nothing: what FastAPI itself asks for one."""


def dependant() -> None:
    @app.get("/")
    async def hello(_nothing: Annotated[None, Depends(nothing)]) -> dict[str, str]:
        return {"hello": "world"}


def middleware() -> None:
    app.add_middleware(RateLimitMiddleware, limiter=STORE, limits=MANY)
    bare()


def dependency() -> None:
    app.add_middleware(RateLimitMiddleware, limiter=STORE)

    @app.get("/")
    async def hello(_info: Annotated[LimitInfo, Depends(RateLimit(MANY))]) -> dict[str, str]:
        return {"hello": "world"}


def slowapi() -> None:
    limiter = Limiter(get_remote_address, headers_enabled=True, storage_uri=STORE)
    app.state.limiter = limiter
    handler: Any = _rate_limit_exceeded_handler
    app.add_exception_handler(RateLimitExceeded, handler)

    @app.get("/")
    @limiter.limit(MANY)
    async def hello(request: Request, response: Response) -> dict[str, str]:  # noqa: ARG001
        return {"hello": "world"}


KINDS = {
    "bare": bare,
    "empty dependency": dependant,
    "middleware": middleware,
    "dependency": dependency,
    "slowapi": slowapi,
}
KINDS[os.environ["LIMITED"]]()
