"""Applications limited by Flask-Limiter and slowapi, which count in tidegate's store."""

from __future__ import annotations

import os
from typing import Any

from fastapi import FastAPI, Request, Response
from flask import Flask, request
from flask_limiter import Limiter as FlaskLimiter
from slowapi import Limiter as SlowLimiter
from slowapi import _rate_limit_exceeded_handler as handler
from slowapi.errors import RateLimitExceeded

import tidegate.stores.limits  # noqa: F401

STORE = f"tidegate+{os.environ.get('STORE', 'memory://')}"
STRATEGY = os.environ.get("STRATEGY", "fixed-window")
OPTIONS: Any = {"timeout": 5} if "redis" in STORE else {}


def flask_key() -> str:
    return request.headers["x-api-key"]


def slow_key(request: Request) -> str:
    return request.headers["x-api-key"]


flask_app = Flask(__name__)
flask_limiter = FlaskLimiter(
    flask_key, app=flask_app, storage_uri=STORE, storage_options=OPTIONS, strategy=STRATEGY, headers_enabled=True
)


@flask_app.get("/")
@flask_limiter.limit("20/hour")
def flask_view() -> str:
    return str(os.getpid())


slow_app = FastAPI()
slow_limiter = SlowLimiter(
    key_func=slow_key, storage_uri=STORE, storage_options=OPTIONS, strategy=STRATEGY, headers_enabled=True
)
slow_app.state.limiter = slow_limiter
slow_app.add_exception_handler(RateLimitExceeded, handler)  # type: ignore[arg-type]


@slow_app.get("/")
@slow_limiter.limit("20/hour")
def slow_view(request: Request, response: Response) -> int:  # noqa: ARG001
    return os.getpid()
