"""A FastAPI app behind a limit: ``python app.py`` serves on a free port of the loopback and prints it."""

import json
import socket
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from tidegate import AsyncLimiter, Limit

LIMIT = Limit.from_dict(json.loads(Path(__file__).with_name("limit.json").read_text(encoding="utf-8")))

limiter = AsyncLimiter()
app = FastAPI()


@app.middleware("http")
async def limited(request: Request, call_next) -> Response:
    """Answers a request that is over the limit with 429, and puts the headers on every answer."""
    # Behind a proxy the peer is the proxy; then the address is in a header that only the proxy may set.
    info = await limiter.limit(LIMIT, request.client.host)
    response = JSONResponse({"error": "too many requests"}, 429) if info.blocked else await call_next(request)
    response.headers.update(info.headers("both"))
    return response


@app.get("/")
async def hello() -> dict[str, str]:
    """What is being protected."""
    return {"hello": "world"}


def serve() -> None:
    """Binds before it says where, so that whoever reads the port can use it."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    serve()
