"""One hello-world for Flask, limited by ``LIMITED``, a name of ``servers.ROWS``."""

from __future__ import annotations

import os

from flask import Flask, Response
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

from tidegate.flask import RateLimit

MANY = "1000000/second"
STORE = os.environ["STORE"]
LIMITED = os.environ["LIMITED"]

app = Flask(__name__)


def hello() -> dict[str, str]:
    return {"hello": "world"}


view = hello
if LIMITED == "two constant headers":

    @app.after_request
    def add(response: Response) -> Response:
        response.headers.add("X-RateLimit-Remaining", "999999")
        response.headers.add("X-RateLimit-Clear", "0.001")
        return response
elif LIMITED == "default":
    RateLimit(app, STORE, default=MANY)
elif LIMITED == "default, headers 'common'":
    RateLimit(app, STORE, default=MANY, headers="common")
elif LIMITED == "decorator":
    view = RateLimit(app, STORE).limit(MANY)(hello)
elif LIMITED == "Flask-Limiter":
    limiter = Limiter(get_remote_address, app=app, headers_enabled=True, storage_uri=STORE)
    view = limiter.limit(MANY)(hello)
app.get("/")(view)
