"""A Starlette app behind the ASGI middleware, for tests over real HTTP."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as StarletteRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from tidegate import AsyncLimiter, Bucket, LimitInfo
from tidegate.asgi import MessageLimit, RateLimitMiddleware, Request, info, settle

logging.basicConfig(level=logging.WARNING, format="%(tidegate_code)s %(message)s", force=True)
# Each is limited by its own key, so that tests do not disturb each other.
DAY = 86_400_000


async def hello(request: StarletteRequest) -> Response:
    answer: LimitInfo = request.state.rate_limit
    assert info(request) == answer
    return JSONResponse({"remaining": answer.remaining, "pid": os.getpid()})


async def stream(_request: StarletteRequest) -> Response:
    async def parts() -> AsyncIterator[bytes]:
        for number in range(3):
            yield str(number).encode()
            await asyncio.sleep(0)

    return StreamingResponse(parts())


async def status(request: StarletteRequest) -> Response:
    code = int(request.path_params["code"])
    if code >= 400:
        raise HTTPException(code)
    return Response(status_code=code)


async def crash(_request: StarletteRequest) -> Response:
    raise RuntimeError("the app crashed")


async def spend(request: StarletteRequest) -> Response:
    """Settles its cost, to be known at its end."""
    settle(request, int(request.query_params["used"]))
    return PlainTextResponse("ok")


async def talk(socket: WebSocket) -> None:
    await socket.accept()
    async for _text in socket.iter_text():
        answer = await MESSAGES.limit(socket)
        await socket.send_text("no" if answer.blocked else "yes")


MESSAGES = MessageLimit(Bucket("messages", size=2, drip_rate=DAY), key="header:x-api-key")


def limits(request: Request) -> Any:
    """The limits of each path, as a function of the request."""
    if request.path == "/free":
        return None
    if request.path == "/spend":
        return Bucket("spend", size=100, drip_rate=DAY)
    if request.path == "/several":
        return [Bucket("small", size=2, drip_rate=DAY), Bucket("large", size=50, drip_rate=DAY)]
    return Bucket("api", size=3, drip_rate=DAY)


async def cost(request: Request) -> int:
    await asyncio.sleep(0)
    return int(request.query_params.get("cost", "1"))


def blocked(request: Request, _answer: LimitInfo) -> Response | None:
    return PlainTextResponse("slow down", 420) if request.path == "/own" else None


app: Any = Starlette(
    routes=[
        Route("/", hello),
        Route("/own", hello),
        Route("/several", hello),
        Route("/free", lambda _request: PlainTextResponse(str(os.getpid()))),
        Route("/stream", stream),
        Route("/status/{code}", status),
        Route("/crash", crash),
        Route("/spend", spend),
        WebSocketRoute("/talk", talk),
    ]
)
# Around the whole application, so that the responses to its crashes have headers too.
app = RateLimitMiddleware(
    app,
    limiter=AsyncLimiter(os.environ["STORE"], timeout=float(os.environ["STORE_TIMEOUT"])),
    limits=limits,
    key=lambda request: request.headers.get("x-api-key"),
    cost=cost,
    on_blocked=blocked,
)
