"""Responses with fields of their own that limits have too: a client finds one of each."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory, override_settings
from fastapi import Depends, FastAPI
from fastapi.responses import PlainTextResponse
from fastapi.testclient import TestClient
from flask import Flask, Response

from tidegate import Bucket
from tidegate.asgi import RateLimitMiddleware
from tidegate.fastapi import RateLimit as Dependency
from tidegate.flask import RateLimit as Extension

if not settings.configured:
    settings.configure()

from tidegate.django import rate_limit

OWN = {"X-RateLimit-Remaining": "99", "RateLimit": '"upstream";r=99;t=1', "X-Own": "kept"}
WANTED = {"x-ratelimit-remaining": ["2"], "ratelimit": ['"door";r=2;t=1'], "x-own": ["kept"]}


@pytest.fixture
def door() -> Bucket:
    return Bucket("door", size=3)


@pytest.fixture
def actor() -> str:
    return uuid4().hex


def fields(items: Any) -> dict[str, list[str]]:
    """The fields of a response with those names, all lines of each."""
    read: dict[str, list[str]] = {}
    for name, value in items:
        if name.lower() in WANTED:
            read.setdefault(name.lower(), []).append(value)
    return read


@pytest.mark.parametrize("several", [False, True], ids=["one decision", "two decisions"])
def test_asgi(store: str, door: Bucket, actor: str, several: bool) -> None:
    app = FastAPI()
    app.add_middleware(
        RateLimitMiddleware,
        limiter=store,
        limits=Bucket("around", size=100) if several else door,
        key=lambda _request: actor,
        headers="both",
    )
    inside = [Depends(Dependency(door, key=lambda _request: actor))] if several else []

    @app.get("/", dependencies=inside)
    async def root() -> PlainTextResponse:
        return PlainTextResponse("hello", headers=OWN)

    read = fields(TestClient(app).get("/").headers.multi_items())
    if several:
        read["ratelimit"] = [line.removeprefix('"around";r=99;t=1, ') for line in read["ratelimit"]]
    assert read == WANTED


def test_flask(store: str, door: Bucket, actor: str) -> None:
    app = Flask(__name__)
    Extension(app, store, default=door, key=lambda _request: actor, headers="both")
    app.add_url_rule("/", view_func=lambda: Response("hello", headers=OWN))
    assert fields(app.test_client().get("/").headers.items()) == WANTED


def test_django(door: Bucket, actor: str) -> None:
    @rate_limit(door, key=lambda _request: actor)
    def view(_request: Any) -> HttpResponse:
        return HttpResponse("hello", headers=OWN)

    with override_settings(TIDEGATE={"HEADERS": "both"}):
        response = view(RequestFactory().get("/"))
    assert fields(response.items()) == WANTED
