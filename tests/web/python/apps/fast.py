"""A FastAPI app with limits on the application, a router and its routes, for tests over real HTTP."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Request, Response, WebSocket
from fastapi.responses import JSONResponse, StreamingResponse

from tidegate import AsyncLimiter, Bucket, LimitInfo
from tidegate.fastapi import RateLimit, RateLimitMiddleware, exempt, settle

logging.basicConfig(level=logging.WARNING)
DAY = 86_400_000

ALL = RateLimit(Bucket("all", size=20, drip_rate=DAY), key="header:x-api-key")
app = FastAPI(dependencies=[Depends(ALL)])
limiter = AsyncLimiter(os.environ["STORE"], timeout=float(os.environ["STORE_TIMEOUT"]))
app.add_middleware(RateLimitMiddleware, limiter=limiter, headers="both")
router = APIRouter(prefix="/v1", dependencies=[Depends(RateLimit("10/day", key="header:x-api-key", name="v1"))])


async def account(x_api_key: Annotated[str, Header()]) -> str:
    """Stands for a look-up of the user."""
    await asyncio.sleep(0)
    return f"account of {x_api_key}"


PerAccount = Annotated[LimitInfo, Depends(RateLimit("2/day", key=Depends(account)))]
PerKey = Annotated[LimitInfo, Depends(RateLimit("3/day", key="header:x-api-key"))]


@router.get("/items/{item}")
async def item(item: int, info: PerKey) -> dict[str, int]:
    return {"item": item, "remaining": info.remaining, "all": item}


@router.get("/others/{item}")
async def other(item: int, info: PerKey) -> dict[str, int]:
    return {"item": item, "remaining": info.remaining}


@router.post("/items/{item}")
def write(item: int, info: PerKey) -> Response:
    """A response of its own, in a thread."""
    return JSONResponse({"item": item, "remaining": info.remaining}, 201)


@router.get("/account")
async def own(info: PerAccount) -> int:
    return info.remaining


@router.get("/health", dependencies=[Depends(exempt)])
async def health() -> int:
    return os.getpid()


@router.get("/bulk", dependencies=[Depends(RateLimit("5/day", key="header:x-api-key", override=True))])
async def bulk() -> str:
    return "ok"


@router.get("/stream")
async def stream(_info: PerKey) -> StreamingResponse:
    async def parts() -> AsyncIterator[bytes]:
        for number in range(3):
            yield str(number).encode()
            await asyncio.sleep(0)

    return StreamingResponse(parts())


@router.get("/fail/{status}")
async def fail(status: int, _info: PerKey) -> None:
    raise HTTPException(status)


@router.get("/spend")
async def spend(
    request: Request,
    used: int,
    _info: Annotated[
        LimitInfo,
        Depends(RateLimit(Bucket("tokens", size=100, drip_rate=DAY), key="header:x-api-key", cost=50)),
    ],
) -> str:
    settle(request, used)
    return "ok"


def teapot(_request: Request, info: LimitInfo) -> Response:
    return JSONResponse({"wait": info.reset_sec}, 418)


@router.get("/own", dependencies=[Depends(RateLimit("1/day", key="header:x-api-key", on_blocked=teapot))])
async def refused() -> str:
    return "ok"


@app.websocket("/talk")
async def talk(socket: WebSocket, info: PerKey) -> None:
    await socket.accept()
    await socket.send_text(str(info.remaining))
    await socket.close()


app.include_router(router)
app.include_router(router, prefix="/again")
