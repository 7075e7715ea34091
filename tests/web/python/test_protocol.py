"""ASGI as the specification says: what passes through the middleware untouched."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest
from starlette.responses import JSONResponse

from harness import Client, hello
from server import RedisServer
from tidegate import Bucket, Limiter, LimitError
from tidegate.asgi import MessageLimit, RateLimitMiddleware, Request, info, settle

DAY = 86_400_000
user: ContextVar[str] = ContextVar("user", default="nobody")


def one() -> Bucket:
    return Bucket("one", size=1, drip_rate=DAY)


def run(app: Any, scope: dict[str, Any], *received: dict[str, Any]) -> list[dict[str, Any]]:
    """Everything that an application sends."""
    sent: list[dict[str, Any]] = []
    messages = iter(received)

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def serve() -> None:
        await app(scope, receive, send)

    asyncio.run(serve())
    return sent


def socket(**more: Any) -> dict[str, Any]:
    return {"type": "websocket", "path": "/chat", "headers": [], "client": ("203.0.113.9", 1), **more}


def test_lifespan_passes_through() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "lifespan.startup"
        assert "tidegate" not in scope
        await send({"type": "lifespan.startup.complete"})

    scope = {"type": "lifespan", "asgi": {"version": "3.0"}}
    assert run(RateLimitMiddleware(app, limits=one()), scope, {"type": "lifespan.startup"}) == [
        {"type": "lifespan.startup.complete"}
    ]


def test_context_variables_pass_through() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        user.set("ada")
        await hello(scope, receive, send)

    limited = RateLimitMiddleware(app, limits=one())
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "client": ("203.0.113.9", 1)}

    async def outer(scope: Any, receive: Any, send: Any) -> None:
        await limited(scope, receive, send)
        # Set in the application, seen around it: no task lies between them.
        assert user.get() == "ada"

    assert run(outer, scope)[0]["status"] == 200


def test_messages_are_passed_on_as_they_come() -> None:
    parts = [{"type": "http.response.body", "body": b"a", "more_body": True}, {"type": "http.response.body"}]
    extra = {"type": "http.response.trailers", "headers": [], "more_trailers": False}
    start = {"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")], "trailers": True}

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        for message in (start, *parts, extra):
            await send(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "client": ("203.0.113.9", 1)}
    sent = run(RateLimitMiddleware(app, limits=one()), scope)
    assert sent[1:] == [*parts, extra]
    assert sent[0]["trailers"] is True
    assert sent[0]["headers"][0] == (b"x-own", b"1")
    assert [name for name, _ in sent[0]["headers"][1:]] == [
        b"x-ratelimit-limit",
        b"x-ratelimit-remaining",
        b"x-ratelimit-reset",
    ]
    # The application's own message is not changed.
    assert start["headers"] == [(b"x-own", b"1")]


def test_a_websocket_that_is_refused() -> None:
    async def app(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})

    limited = RateLimitMiddleware(app, limits=one())
    connect = {"type": "websocket.connect"}
    assert run(limited, socket(), connect) == [{"type": "websocket.accept"}]
    closed = run(limited, socket(), connect)
    assert [(message["type"], message.get("code")) for message in closed] == [("websocket.close", 1008)]
    start, body = run(limited, socket(extensions={"websocket.http.response": {}}), connect)
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 429)
    assert b"retry-after" in dict(start["headers"])
    assert body["type"] == "websocket.http.response.body"


def test_a_websocket_that_is_refused_with_a_response_of_its_own() -> None:
    async def app(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})

    limited = RateLimitMiddleware(app, limits=one(), on_blocked=lambda _request, _info: JSONResponse({}, 418))
    connect = {"type": "websocket.connect"}
    assert run(limited, socket(), connect) == [{"type": "websocket.accept"}]
    closed = [{"type": "websocket.close", "code": 1008, "reason": "rate limit exceeded"}]
    assert run(limited, socket(), connect) == closed
    assert run(limited, socket(extensions={"websocket.http.response": {}}), connect)[0]["status"] == 418


def test_messages_of_a_websocket() -> None:
    messages = MessageLimit(Bucket("messages", size=2, drip_rate=DAY), cost=1)
    answers = []

    async def app(scope: Any, _receive: Any, send: Any) -> None:
        answers.extend([(await messages.limit(scope)).blocked for _ in range(3)])
        await send({"type": "websocket.close"})

    for outer in (lambda inner: inner, lambda inner: RateLimitMiddleware(inner, Limiter(), limits=one())):
        answers.clear()
        limiter = Limiter()
        run(outer(RateLimitMiddleware(app, limiter)), socket(), {"type": "websocket.connect"})
        assert answers == [False, False, True]
        # It is the limiter of the middleware, of several the one directly above.
        assert limiter.peek(Bucket("messages", size=2, drip_rate=DAY), "ip:203.0.113.9").remaining == 0


def test_a_store_that_fails_at_the_end_does_not_harm_the_response(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        settle(scope, 7)
        server.kill()
        await hello(scope, receive, send)

    limiter = Limiter(server.url, timeout=5, on_error="raise")
    tokens = Bucket("tokens", size=100, drip_rate=DAY)
    client = Client(RateLimitMiddleware, app=app, limiter=limiter, limits=tokens, cost=50)
    answer = client.ask()
    assert (answer.status, answer.body) == (200, b"hello")
    assert "could not be settled" in caplog.text


@pytest.mark.parametrize("cost", [-1, 1.5, "7", True])
def test_a_cost_that_cannot_be(cost: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        with pytest.raises(LimitError, match="cost must be a whole number and at least 0"):
            settle(scope, cost)
        await hello(scope, receive, send)

    assert Client(RateLimitMiddleware, app=app, limits="5/minute", cost=1).ask().status == 200


def test_several_actors() -> None:
    limiter = Limiter()

    def actors(request: Request) -> list[str | None]:
        return [request.headers["x-user"], None]

    client = Client(RateLimitMiddleware, limiter=limiter, limits=Bucket("login", size=2, drip_rate=DAY), key=actors)
    assert [client.ask(x_user=user).status for user in ("ada", "eve", "joe")] == [200, 200, 429]
    # The address is used up; nobody was charged for the third.
    assert limiter.peek(Bucket("login", size=2, drip_rate=DAY), "joe").remaining == 2


def test_what_is_not_limited() -> None:
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.extend([info(scope), settle(scope, 5)])
        await hello(scope, receive, send)

    answer = Client(RateLimitMiddleware, app=app).ask()
    assert answer.headers == {"content-type": "text/plain"}
    assert seen == [None, False]


@pytest.mark.parametrize("key", ["ip", lambda _request: "ada"], ids=["address", "function"])
def test_the_answer_about_a_request(key: Any) -> None:
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(info(scope))
        await hello(scope, receive, send)

    client = Client(RateLimitMiddleware, app=app, limits=Bucket("three", size=3, drip_rate=DAY), key=key)
    assert [client.ask().headers["x-ratelimit-remaining"] for _ in range(2)] == ["2", "1"]
    assert [None if answer is None else answer.remaining for answer in seen] == [2, 1]


@pytest.mark.parametrize(("cancels", "left"), [(True, 4), (False, 5)])
def test_a_request_that_is_cancelled_keeps_its_charge(cancels: bool, left: int) -> None:
    async def app(*_given: Any) -> None:
        raise asyncio.CancelledError if cancels else RuntimeError

    limiter, api = Limiter(), Bucket("api", size=5, drip_rate=DAY)
    client = Client(RateLimitMiddleware, app=app, limiter=limiter, limits=api, charge_on=[200])
    with pytest.raises(asyncio.CancelledError if cancels else RuntimeError):
        client.ask()
    assert limiter.peek(api, "ip:127.0.0.1").remaining == left


def test_a_cancelled_request_is_settled() -> None:
    limiter, tokens = Limiter(), Bucket("tokens", size=100, drip_rate=DAY)
    began = asyncio.Event()

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        settle(scope, 7)
        began.set()
        await asyncio.sleep(3600)

    client = Client(RateLimitMiddleware, app=app, limiter=limiter, limits=tokens, cost=50)

    async def serve() -> None:
        task = asyncio.ensure_future(client.ask_async())
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    client.loop.run_until_complete(serve())
    assert limiter.peek(tokens, "ip:127.0.0.1").remaining == 93


def test_an_error_is_an_outcome() -> None:
    limiter, api = Limiter(), Bucket("api", size=5, drip_rate=DAY)
    outcomes = []

    async def app(_scope: Any, _receive: Any, _send: Any) -> None:
        raise RuntimeError("crash")

    def succeeded(outcome: Any) -> bool:
        outcomes.append((outcome.status, str(outcome.error)))
        return outcome.error is None

    client = Client(RateLimitMiddleware, app=app, limiter=limiter, limits=api, charge_on=succeeded)
    with pytest.raises(RuntimeError, match="crash"):
        client.ask()
    assert outcomes == [(500, "crash")]
    assert limiter.peek(api, "ip:127.0.0.1").remaining == 5
