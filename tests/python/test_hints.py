"""Facts that libraries read of this one while a program runs: type hints, and how pydantic validates and writes."""

from __future__ import annotations

import asyncio
import inspect
import json
import typing
from collections.abc import Mapping
from types import ClassMethodDescriptorType, UnionType
from typing import Annotated, Any

import fastapi
import pydantic
import pytest

import tidegate
from tidegate import (
    AsyncLimiter,
    Bucket,
    CallExplanation,
    Check,
    Definition,
    Explanation,
    Fault,
    Latency,
    Limit,
    Limited,
    Limiter,
    LimitInfo,
    Limits,
    Statistics,
    TokenBucket,
    testing,
)

LOGIN = Bucket("login", size=10)
PUBLIC = [getattr(tidegate, name) for name in tidegate.__all__ if not name.startswith("__")] + [testing.Clock]


def members(thing: Any) -> list[Any]:
    """The thing itself, and the functions and properties in it."""
    found = [thing]
    for member in vars(thing).values() if inspect.isclass(thing) else []:
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if inspect.isroutine(function) and not isinstance(function, ClassMethodDescriptorType):
            found.append(function)
    return found


@pytest.mark.parametrize("thing", PUBLIC, ids=str)
def test_the_hints_of_every_public_thing_are_known(thing: Any) -> None:
    if isinstance(thing, UnionType):
        assert typing.get_args(thing)
        return
    for member in members(thing):
        typing.get_type_hints(member, include_extras=True)


def test_they_are_those_that_were_written() -> None:
    hints = typing.get_type_hints(AsyncLimiter.limit)
    assert hints["return"] is LimitInfo
    assert hints["limit"] == Limited
    assert typing.get_type_hints(AsyncLimiter.limit_all)["checks"].__args__ == (Check,)
    assert typing.get_type_hints(Limits.__getitem__)["return"] is Limit
    assert isinstance(Definition, UnionType)


def test_programs_can_name_them() -> None:
    def decide(limiter: Limiter | AsyncLimiter, limit: Limited, one: Definition, checks: list[Check]) -> Fault:
        raise NotImplementedError

    assert typing.get_type_hints(decide)["return"] is Fault


def call(app: fastapi.FastAPI, path: str) -> tuple[int, Any]:
    """One request to an application, without a server."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [], "http_version": "1.1"}
    scope |= {"scheme": "http", "server": ("test", 80), "client": ("203.0.113.9", 1), "root_path": "", "raw_path": b""}
    asyncio.run(app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], json.loads(body)


app, limiter = fastapi.FastAPI(), Limiter()


def address(request: fastapi.Request) -> str:
    assert request.client is not None
    return request.client.host


async def limited(actor: Annotated[str, fastapi.Depends(address)]) -> LimitInfo:
    return await AsyncLimiter().limit(LOGIN, actor)


@app.get("/info")
async def show(info: Annotated[LimitInfo, fastapi.Depends(limited)]) -> LimitInfo:
    return info


@app.get("/call-explanation")
def call_explanation() -> CallExplanation:
    return limiter.explain(LOGIN, "ada")


@app.get("/explanation")
def explanation() -> Explanation:
    return LOGIN.explain()


@app.get("/stats")
def stats() -> Statistics:
    return limiter.stats()


@app.get("/latency")
def latency() -> Latency:
    return limiter.stats().latency


@app.get("/limit")
def limit() -> Limit:
    return LOGIN


@app.get("/bucket")
def bucket() -> Bucket:
    return LOGIN


@app.get("/limits")
def limits() -> Limits:
    return Limits.from_text('{"api": "100/minute"}', "json")


def test_fastapi_takes_every_answer_as_a_return_annotation() -> None:
    assert call(app, "/info") == (200, Limiter().limit(LOGIN, "203.0.113.9").to_dict())
    assert call(app, "/call-explanation")[1]["text"] == str(limiter.explain(LOGIN, "ada"))
    assert call(app, "/explanation") == (200, LOGIN.explain().to_dict())
    assert call(app, "/stats")[1][0] == limiter.stats().decisions > 0
    assert call(app, "/latency")[0] == 200
    assert call(app, "/limit") == call(app, "/bucket") == (200, LOGIN.to_dict())
    assert call(app, "/limits")[1]["api"]["count"] == 100
    assert "/info" in app.openapi()["paths"]


class Settings(pydantic.BaseModel):
    login: Limit = LOGIN
    door: Bucket
    more: list[Limit] = []
    all: Limits


def test_pydantic_holds_limits() -> None:
    wire = {"key": "door", "type": "bucket", "size": 1}
    api = {"key": "api", "type": "token-bucket", "count": 5, "period": 1000}
    settings = Settings.model_validate({"door": wire, "more": [api, LOGIN], "all": {"api": "5/second", "login": LOGIN}})
    assert settings.login is LOGIN
    assert settings.door == Bucket("door", size=1)
    assert settings.more == [TokenBucket("api", count=5, period=1000), LOGIN]
    assert settings.all["login"] == LOGIN
    assert Settings.model_validate(settings.model_dump()) == settings
    again = Settings.model_validate_json(settings.model_dump_json())
    assert (again.door, again.more, dict(again.all)) == (settings.door, settings.more, dict(settings.all))
    # As a variable of the environment is.
    assert Settings.model_validate({"door": json.dumps(wire), "all": '{"api": "5/second"}'}).door.size == 1
    assert Settings.model_json_schema()["properties"]["door"]["type"] == "object"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("door", {"key": "door", "type": "bucket", "size": 0}, 'limit "door": size must be at least 1, got 0'),
        ("door", {"key": "door", "type": "bucket", "size": 1, "dripRate": None}, "dripRate must be a number, got None"),
        ("door", {"key": "api", "type": "token-bucket", "count": 5, "period": 1000}, "must be a Bucket, got a Token"),
        ("door", "100/minute", "a limit as text has no key"),
        ("door", "{", "Expecting property name"),
        ("door", 5, "must be a definition"),
        ("all", {"api": "100/fortnight"}, "api"),
        ("all", {"api": {"type": "bucket", "size": {1}}}, "size must be a number, got an object of type set"),
        ("all", 5, "must be a mapping of names to limits"),
    ],
)
def test_pydantic_says_what_is_wrong_with_one(field: str, value: Any, words: str) -> None:
    right: Mapping[str, Any] = {"door": LOGIN, "all": {}}
    with pytest.raises(pydantic.ValidationError) as caught:
        Settings.model_validate({**right, field: value})
    (error,) = caught.value.errors()
    assert error["loc"] == (field,)
    assert words in error["msg"]


def test_pydantic_reads_answers_back() -> None:
    adapter = pydantic.TypeAdapter(LimitInfo)
    limiter = Limiter()
    for info in (limiter.limit(LOGIN, "ada"), limiter.limit([LOGIN, Bucket("door", size=1)], "ada")):
        again = adapter.validate_json(adapter.dump_json(info))
        assert again.to_dict() == info.to_dict()
        assert adapter.validate_python(info) is info
    with pytest.raises(pydantic.ValidationError):
        adapter.validate_python(5)
