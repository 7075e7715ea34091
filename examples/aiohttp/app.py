"""An aiohttp app behind a limit, with a middleware of its own: ``python app.py`` serves on port 8080.

aiohttp is no ASGI framework, so this is written on the limiter itself. The signal puts the headers on every response:
streams, errors and refusals too.
"""

import os
import sys

from aiohttp import web

from tidegate import AsyncLimiter, LimitInfo, TokenBucket, client_of

API = TokenBucket("api", count=5, period=60_000)
limiter = AsyncLimiter(os.environ.get("STORE", "memory://"), timeout=float(os.environ.get("STORE_TIMEOUT", "0.1")))
INFO = web.RequestKey("rate_limit", LimitInfo) if hasattr(web, "RequestKey") else "rate_limit"


@web.middleware
async def limited(request: web.Request, handler) -> web.StreamResponse:
    """Refuses a request that is over the limit."""
    # Behind a proxy the peer is the proxy; then the address is in a header that only the proxy may set.
    info = request[INFO] = await limiter.limit(API, client_of(request.remote))
    if info.blocked:
        raise web.HTTPTooManyRequests(text=f"retry in {info.reset_sec} s")
    return await handler(request)


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Puts the headers on a response before it begins."""
    if INFO in request:
        response.headers.update(request[INFO].headers())


async def hello(_request: web.Request) -> web.Response:
    """The route that is limited."""
    return web.json_response({"hello": "world"})


app = web.Application(middlewares=[limited])
app.on_response_prepare.append(add_headers)
app.router.add_get("/", hello)

if __name__ == "__main__":
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8080, print=None)
