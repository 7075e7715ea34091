"""A Flask app as its users write it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from flask import Blueprint, Flask, abort, g, jsonify, stream_with_context
from flask.typing import ResponseReturnValue
from flask.views import MethodView

from tidegate import Limiter
from tidegate.flask import RateLimit, settle

STORE = os.environ.get("STORE", "memory://")
KEY = "header:x-api-key"

limiter = RateLimit(default="20/day", name="all", key=KEY)
v1 = Blueprint("v1", __name__, url_prefix="/v1")
limiter.limit("10/day", key=KEY, name="v1")(v1)
free = limiter.exempt(Blueprint("free", __name__, url_prefix="/free"))


@v1.get("/items/<int:item>")
@limiter.limit("3/day", key=KEY)
def items(item: int) -> ResponseReturnValue:
    return jsonify(item=item, remaining=g.rate_limit.remaining)


@v1.get("/bulk")
@limiter.limit("5/day", key=KEY, override=True)
def bulk() -> str:
    return "bulk"


@v1.get("/health")
@limiter.exempt
@limiter.limit("1/day", key=KEY)
def health() -> str:
    return "ok"


@v1.get("/async")
@limiter.limit("2/day", key=KEY)
async def later() -> str:
    return "later"


@v1.get("/fail/<int:status>")
def fail(status: int) -> str:
    if status == 500:
        raise RuntimeError("as asked")
    abort(status)


@v1.get("/stream")
@limiter.limit("100/day", key=KEY, cost=50, name="tokens")
def stream() -> ResponseReturnValue:
    def parts() -> Iterator[str]:
        for number in range(1, 4):
            settle(number)
            yield "x"

    return stream_with_context(parts()), {"Content-Type": "text/plain"}


@v1.get("/own")
@limiter.limit("1/day", key=KEY, on_blocked=lambda _request, info: (f"wait {info.binding}", 503))
def own() -> str:
    return "own"


class Things(MethodView):
    @limiter.limit("1/day", key=KEY, name="get things")
    def get(self) -> str:
        return "get"

    @limiter.limit("2/day", key=KEY)
    def post(self) -> str:
        return "post"


v1.add_url_rule("/things", view_func=Things.as_view("things"))


@free.get("/")
def nothing() -> str:
    return "free"


@free.get("/worker")
def worker() -> str:
    return str(os.getpid())


@free.get("/some")
@limiter.limit("2/day", key=KEY)
def some() -> str:
    return "some"


def create_app(store: str = STORE, **config: object) -> Flask:
    app = Flask(__name__)
    timeout = float(os.environ.get("STORE_TIMEOUT", "5"))
    app.config.update(TIDEGATE_LIMITER=Limiter(store, timeout=timeout) if "redis" in store else store)
    app.config.update({"TIDEGATE_HEADERS": "both", **config})
    limiter.init_app(app)
    app.register_blueprint(v1)
    app.register_blueprint(free)
    return app
