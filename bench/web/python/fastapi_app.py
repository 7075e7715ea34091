"""One hello-world for FastAPI, limited by ``LIMITED``, a name of ``servers.ROWS``."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

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
HEADERS = [(b"x-ratelimit-remaining", b"999999"), (b"x-ratelimit-clear", b"0.001")]

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


class ConstantHeaders:
    """A middleware that adds two headers: what ASGI itself asks for them."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def carry(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *HEADERS]}
            await send(message)

        await self.app(scope, receive, carry)


def constant() -> None:
    app.add_middleware(ConstantHeaders)
    bare()


def middleware(headers: Literal["x", "common"] = "x") -> None:
    app.add_middleware(RateLimitMiddleware, limiter=STORE, limits=MANY, headers=headers)
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


KINDS: dict[str, Callable[[], None]] = {
    "bare": bare,
    "two constant headers": constant,
    "empty dependency": dependant,
    "middleware": middleware,
    "middleware, headers 'common'": partial(middleware, "common"),
    "dependency": dependency,
    "slowapi": slowapi,
}
KINDS[os.environ["LIMITED"]]()
