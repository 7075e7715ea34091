"""A FastAPI app behind a limit: ``python app.py`` serves on a free port of the loopback and prints it."""

import json
import socket
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from tidegate.fastapi import RateLimitMiddleware

LIMIT = json.loads(Path(__file__).with_name("limit.json").read_text(encoding="utf-8"))

app = FastAPI()
# Behind a proxy the peer is the proxy; then `trusted_proxies=1` makes it read a header that only the proxy may set.
app.add_middleware(RateLimitMiddleware, limits=LIMIT, headers="both")


@app.get("/")
async def hello() -> dict[str, str]:
    """The route that is protected."""
    return {"hello": "world"}


def serve() -> None:
    """Binds before it says where, so that whoever reads the port can use it."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    serve()
