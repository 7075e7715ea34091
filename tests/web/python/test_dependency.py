"""FastAPI's dependency in ways that need no server."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse
from fastapi.testclient import TestClient
from starlette.routing import Mount, Router

from harness import Client
from tidegate import Bucket, Limiter, LimitError, LimitInfo
from tidegate.fastapi import RateLimit, RateLimited, RateLimitMiddleware, document, exempt, info

DAY = 86_400_000


def bucket(key: str, size: int) -> Bucket:
    return Bucket(key, size=size, drip_rate=DAY)


def client(app: FastAPI, **options: Any) -> Client:
    app.add_middleware(RateLimitMiddleware, **options)
    return Client(lambda app: app, app=app)


def test_an_overridden_dependency_limits_nothing() -> None:
    first, second = RateLimit(bucket("first", 1)), RateLimit(bucket("second", 3))
    app = FastAPI()

    @app.get("/", dependencies=[Depends(first), Depends(second)])
    async def hello() -> str:
        return "hello"

    app.dependency_overrides[first] = lambda: None
    asking = client(app)
    assert [asking.ask().status for _ in range(4)] == [200, 200, 200, 429]


def test_the_only_limit_of_a_route_asks_a_dependency_for_its_actor() -> None:
    async def user(x_user: Annotated[str | None, Header()] = None) -> str | None:
        return x_user

    app = FastAPI()

    @app.get("/", dependencies=[Depends(RateLimit(bucket("of a user", 1), key=Depends(user)))])
    async def hello() -> str:
        return "hello"

    asking = client(app)
    assert [asking.ask(x_user=user).status for user in ("ada", "ada", "eve")] == [200, 429, 200]
    # Nobody is known, so the address is limited.
    assert [asking.ask().status for _ in range(2)] == [200, 429]


def test_a_call_in_an_endpoint() -> None:
    limit = RateLimit(bucket("inner", 2))
    app = FastAPI()

    @app.get("/")
    async def hello(request: Request) -> int:
        return (await limit(request)).remaining

    asking = client(app)
    assert [asking.ask().status for _ in range(3)] == [200, 200, 429]


def test_an_exemption_leaves_the_limits_behind_it() -> None:
    outer, own = RateLimit(bucket("outer", 1)), RateLimit(bucket("own", 2))
    router = APIRouter(dependencies=[Depends(outer), Depends(exempt)])

    def route(path: str, *dependencies: Any) -> None:
        router.get(path, dependencies=[Depends(one) for one in dependencies])(lambda: "hello")

    route("/free")
    route("/limited", own)
    route("/inner", own, exempt)
    route("/again", outer, exempt, outer)
    app = FastAPI(dependencies=[Depends(outer)])
    app.include_router(router)
    asking = client(app)
    statuses = {path: [asking.ask(path).status for _ in range(3)] for path in ("/free", "/inner", "/limited", "/again")}
    assert statuses == {
        "/free": [200, 200, 200],
        "/inner": [200, 200, 200],
        "/limited": [200, 200, 429],
        "/again": [200, 429, 429],
    }


def test_an_exemption_holds_for_the_parameters_of_its_route() -> None:
    app = FastAPI(dependencies=[Depends(RateLimit(bucket("outer", 1)))])

    @app.get("/", dependencies=[Depends(exempt)])
    async def hello(info: Annotated[LimitInfo, Depends(RateLimit(bucket("own", 2)))]) -> int:
        return info.remaining

    asking = client(app)
    assert [asking.ask().status for _ in range(3)] == [200, 200, 429]


def test_the_answer_about_a_request() -> None:
    app = FastAPI()

    @app.get("/", dependencies=[Depends(RateLimit(bucket("one", 3)))])
    async def hello(request: Request) -> int | None:
        found = info(request)
        return None if found is None else found.remaining

    asking = client(app)
    assert [asking.ask().body for _ in range(2)] == [b"2", b"1"]


def test_limits_with_another_limiter_are_decided_apart() -> None:
    own, shared = Limiter(), Limiter()
    app = FastAPI(dependencies=[Depends(RateLimit(bucket("all", 9)))])

    @app.get("/", dependencies=[Depends(RateLimit(bucket("own", 2), limiter=own))])
    async def hello() -> str:
        return "hello"

    asking = client(app, limiter=shared)
    assert [asking.ask().status for _ in range(4)] == [200, 200, 429, 429]
    assert own.peek(bucket("own", 2), "ip:127.0.0.1").remaining == 0
    # What the denied requests charged before was given back.
    assert shared.peek(bucket("all", 9), "ip:127.0.0.1").remaining == 7


def test_a_router_that_is_included_twice_and_a_mounted_application() -> None:
    router, inner, app = APIRouter(), FastAPI(), FastAPI()

    @router.get("/a/{name}")
    async def hello(name: str, info: Annotated[LimitInfo, Depends(RateLimit("9/day"))]) -> str:
        return f"{name} {info.key}"

    inner.include_router(router)
    app.include_router(router, prefix="/one")
    app.include_router(router, prefix="/two")
    app.mount("/in/{tenant}", inner)
    asking = client(app)
    answers = [asking.ask(path).body for path in ("/one/a/x", "/two/a/y", "/in/acme/a/z")]
    assert answers == [
        b'"x GET /one/a/{name}"',
        b'"y GET /two/a/{name}"',
        b'"z GET /in/{tenant}/a/{name}"',
    ]


@pytest.mark.parametrize("error", [HTTPException, RateLimited, 429])
def test_a_handler_of_the_application(error: Any) -> None:
    app = FastAPI(dependencies=[Depends(RateLimit(bucket("api", 1)))])

    @app.exception_handler(error)
    async def handle(_request: Request, raised: HTTPException) -> JSONResponse:
        return JSONResponse({"error": raised.detail}, raised.status_code, dict(raised.headers or {}))

    @app.get("/")
    async def hello() -> str:
        return "hello"

    asking = client(app)
    assert asking.ask().status == 200
    denied = asking.ask()
    assert (denied.status, denied.body[:30]) == (429, b'{"error":"Rate limit exceeded.')
    assert denied.headers["retry-after"] == "86400"
    assert denied.headers["content-type"] == "application/json"


@pytest.mark.parametrize("by_place", [False, True])
def test_the_document_without_a_server(by_place: bool) -> None:
    app = FastAPI()
    options: Any = {"headers": "ietf", "status": 503, "body": "text"}
    if by_place:
        app.add_middleware(RateLimitMiddleware, Limiter(), "5/minute", **options)
    else:
        app.add_middleware(RateLimitMiddleware, limits="5/minute", **options)

    @app.get("/")
    async def hello() -> str:
        return "hello"

    assert "503" not in app.openapi()["paths"]["/"]["get"]["responses"]
    document(app)
    document(app)
    refusal = app.openapi()["paths"]["/"]["get"]["responses"]["503"]
    assert list(refusal["headers"]) == ["Retry-After", "RateLimit-Policy", "RateLimit"]
    assert list(refusal["content"]) == ["text/plain"]


def test_depends_of_nothing() -> None:
    with pytest.raises(LimitError, match="key must be Depends of a function"):
        RateLimit("5/minute", key=Depends())


def test_two_limits_of_a_websocket_are_a_mistake_at_the_start() -> None:
    router, app = APIRouter(dependencies=[Depends(RateLimit("9/day"))]), FastAPI()
    router.websocket("/talk", dependencies=[Depends(RateLimit("3/day"))])(lambda: None)
    app.add_middleware(RateLimitMiddleware)
    app.include_router(router)
    with pytest.raises(LimitError, match="give one of them a name"), TestClient(app):
        raise NotImplementedError


def mounting(*limits: RateLimit) -> FastAPI:
    """An application that mounts another one, which has these limits."""
    inner, app = FastAPI(dependencies=[Depends(RateLimit("9/day"))]), FastAPI()
    inner.get("/", dependencies=[Depends(limit) for limit in limits])(lambda: "hello")
    app.add_middleware(RateLimitMiddleware)
    app.mount("/{tenant}", Router([Mount("/in", inner)]))
    # In a circle.
    inner.mount("/out", app)
    return app


def test_two_limits_of_a_mounted_application_are_a_mistake_at_the_start() -> None:
    found = r"two limits of GET /{tenant}/in/ have .* give one of them a name"
    with pytest.raises(LimitError, match=found), TestClient(mounting(RateLimit("3/day"), RateLimit("5/day"))):
        raise NotImplementedError
    with TestClient(mounting(RateLimit("3/day"))) as asking:
        assert asking.get("/acme/in/").headers["x-ratelimit-limit"] == "3"
