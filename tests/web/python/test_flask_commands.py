"""``flask tidegate``, in Flask's test runner and in a process of its own."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import Result
from flask import Flask

from server import RedisServer
from tidegate import Limiter, Limits
from tidegate.flask import RateLimit

APPS = Path(__file__).parent / "apps"
sys.path.insert(0, str(APPS))

create_app: Any = importlib.import_module("flasky").create_app


def run(app: Flask, *arguments: str, **options: Any) -> Result:
    return app.test_cli_runner().invoke(args=["tidegate", *arguments], **options)


def test_limits_are_listed() -> None:
    result = run(create_app("memory://"), "limits")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    place = lines.index("GET /v1/items/{item}")
    assert [line.split(" admits ")[0].strip() for line in lines[place + 1 : place + 4]] == [
        '"all" (token-bucket)',
        '"v1" (token-bucket)',
        '"GET /v1/items/{item}" (token-bucket)',
    ]
    assert lines[lines.index("GET /v1/health") + 1] == "  no limit"
    assert lines[lines.index("GET /static/{filename}") + 1] == "  no limit"
    assert lines[lines.index("any other path") + 1].startswith('  "all" (token-bucket) admits 20 at once')


def test_limits_by_a_function_are_not_known_before() -> None:
    app = Flask("shop")
    RateLimit(app, default=lambda _request: "5/minute")
    assert "  limits that a function of the request returns" in run(app, "limits").output.splitlines()


def test_only_routes_with_a_view_are_listed() -> None:
    app = Flask("shop", static_folder=None)
    RateLimit(app, default="5/minute")
    app.add_url_rule("/old", endpoint="old", redirect_to="/")
    app.add_url_rule("/", view_func=lambda: "hello")
    listed = run(app, "limits").output.splitlines()
    assert [line for line in listed if not line.startswith(" ")] == ["GET /", "any other path"]


def test_an_actor_is_shown_and_reset(redis: RedisServer) -> None:
    app, actor = create_app(redis.url), uuid4().hex
    for _ in range(3):
        app.test_client().get("/v1/items/1", headers={"X-Api-Key": actor})
    shown = run(app, "status", actor).output.splitlines()
    assert next(line for line in shown if line.startswith('"all"')).split(":")[1].startswith(" 17 of 20 units are free")
    assert any(line.startswith('"GET /v1/items/{item}" would refuse this call') for line in shown)

    assert run(app, "reset", actor, "--limit", "all").output == f"1 limits of {actor} are reset\n"
    assert '"all" would admit this call: all 20 units are free' in run(app, "status", actor).output
    assert app.test_client().get("/v1/items/1", headers={"X-Api-Key": actor}).status_code == 429
    assert run(app, "reset", actor).exit_code == 0
    assert app.test_client().get("/v1/items/1", headers={"X-Api-Key": actor}).status_code == 200
    unknown = run(app, "reset", actor, "--limit", "any")
    assert (unknown.exit_code, "no limit has the key 'any'; there are all, " in unknown.output) == (1, True)


def test_the_overrides_of_an_actor_are_those_of_requests(redis: RedisServer) -> None:
    overrides = [{"actor": "acme", "definition": "2/day sliding-log", "limit": "api"}, {"actor": "bob", "factor": 0.5}]
    app, limits = Flask("shop"), Limits.from_dict({"limits": {"api": "5/day"}, "overrides": overrides})
    RateLimit(app, Limiter(redis.url, namespace=uuid4().hex, timeout=5), default=limits, key="header:x-api-key")
    app.add_url_rule("/", view_func=lambda: "hello")
    client = app.test_client()
    assert [client.get("/", headers={"X-Api-Key": "acme"}).status_code for _ in range(3)] == [200, 200, 429]
    assert client.get("/", headers={"X-Api-Key": "bob"}).status_code == 200
    assert run(app, "status", "acme").output.startswith('"api" would refuse this call: 0 of 2 units are free.')
    assert run(app, "status", "bob").output.startswith('"api" would admit this call: 9 of 10 units are free')
    assert run(app, "reset", "acme").output == "1 limits of acme are reset\n"
    assert client.get("/", headers={"X-Api-Key": "acme"}).status_code == 200


def test_actors_close_to_their_limits_are_shown(redis: RedisServer) -> None:
    app = Flask("shop")
    RateLimit(app, Limiter(redis.url, namespace=uuid4().hex, timeout=5), default="2/day")
    app.add_url_rule("/", view_func=lambda: "hello")
    for address, calls in [("192.0.2.1", 3), ("192.0.2.2", 1)]:
        for _ in range(calls):
            app.test_client().get("/", environ_base={"REMOTE_ADDR": address})
    lines = run(app, "top").output.splitlines()
    assert [line.split()[:4] for line in lines[1:3]] == [
        ["ip:192.0.2.1", "app", "0", "2"],
        ["ip:192.0.2.2", "app", "1", "2"],
    ]
    assert lines[4].startswith("2 actors found, 1 of them denied now. Looked at ")
    first = run(app, "top", "--count", "1").output
    assert "2 actors found, 1 of them denied now, 1 not shown" in first
    assert run(app, "top", "--budget", "0").output.startswith("0 actors found")
    assert run(app, "top", "--budget", "-1").exit_code == 2


def test_a_store_without_names_says_who_has_them(tmp_path: Path) -> None:
    app = Flask("shop")
    RateLimit(app, Limiter(f"shm://{tmp_path}/shop"), default="2/day")
    result = run(app, "top")
    assert (result.exit_code, "limiter.top()" in result.output) == (1, True)


def test_addresses_are_those_of_clients(redis: RedisServer) -> None:
    app = Flask("shop")
    RateLimit(app, Limiter(redis.url, namespace=uuid4().hex, timeout=5), default="1/day")
    app.add_url_rule("/", view_func=lambda: "hello")
    client, options = app.test_client(), {"REMOTE_ADDR": "2001:db8::1"}
    assert [client.get("/", environ_base=options).status_code for _ in range(2)] == [200, 429]
    assert run(app, "reset", "2001:db8::2").exit_code == 0
    assert client.get("/", environ_base=options).status_code == 200


def test_everything_is_cleared_once_that_is_confirmed(redis: RedisServer) -> None:
    app = Flask("shop")
    limiter = Limiter(redis.url, namespace=uuid4().hex, timeout=5)
    RateLimit(app, limiter, default="1/day")
    app.test_client().get("/")
    assert run(app, "clear", input="n\n").exit_code == 1
    assert app.test_client().get("/").status_code == 429
    assert run(app, "clear", "--yes").output == "1 entries are removed\n"
    assert app.test_client().get("/").status_code == 404


def test_a_store_in_memory_is_out_of_reach() -> None:
    app = create_app("memory://")
    for arguments in (["status", "ada"], ["top"], ["reset", "ada"], ["clear", "--yes"]):
        result = run(app, *arguments)
        assert (result.exit_code, "memory of the server's process" in result.output) == (1, True)
    assert run(app, "ping").exit_code == 0


def flask(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flask", "--app", "flasky", "tidegate", *arguments]
    environment = {**os.environ, "STORE": url}
    return subprocess.run(command, cwd=APPS, env=environment, capture_output=True, text=True, check=False)


def test_a_process(server: RedisServer) -> None:
    answer = flask(server.url, "ping")
    assert (answer.returncode, f"<Limiter {server.url}> decides calls" in answer.stdout) == (0, True), answer.stderr
    server.kill()
    answer = flask(server.url, "ping")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "Error: the store did not decide: no connection" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("command", ["ping", "limits", "status", "top", "reset", "clear"])
def test_help(command: str) -> None:
    result = run(create_app("memory://"), command, "--help")
    assert (result.exit_code, result.output.startswith("Usage: ")) == (0, True)
