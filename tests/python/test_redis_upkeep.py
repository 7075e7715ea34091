"""Upkeep of a store: is it fit, what is wrong with it, forget everything; and names of stores."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, get_type_hints

import pytest

from calls import AnyLimiter, done
from server import RedisServer
from test_redis import wait_for
from tidegate import AsyncLimiter, Bucket, Health, Limiter, LimitError, StoreError
from tidegate._tidegate import _option_names
from tidegate._types import LimiterOptions

LOGIN = Bucket("login", size=1, drip_rate=timedelta(hours=1))
PATIENT: dict[str, Any] = {"timeout": 10, "on_error": "raise"}

SECRETS = [
    "redis://user:S3cr3t?1@host",
    "redis://user:S3cr3t/1@host",
    "redis://user:S3cr3t#1@host",
    "redis://user:12?S3cr3t@host",
    "redis://user:12/S3cr3t@host",
    "redis://user:S3cr3t",
    "redis://:S3cr3t",
    "redis://user:S3cr3t@",
    "redis://user:S3cr3t@host?S3cr3t=1",
    "redis://user:S3cr3t@host:S3cr3t",
    "redis+sentinel://user:S3cr3t@host",
    "unix://user:S3cr3t",
    "http://user:S3cr3t@host",
    "memory://user:S3cr3t@host",
]


@pytest.fixture(params=[Limiter, AsyncLimiter])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.mark.parametrize("url", SECRETS)
def test_no_part_of_a_login_is_in_an_error(kind: type[AnyLimiter], url: str) -> None:
    with pytest.raises(LimitError) as caught:
        kind(url)
    shown = f"{caught.value!r} {caught.value} {caught.value.value}"
    assert "S3cr3t" not in shown
    assert "user:" not in shown


def test_an_option_of_the_url_that_is_not_known_is_named(kind: type[AnyLimiter]) -> None:
    with pytest.raises(LimitError, match="has an option socket_timeout that is not known"):
        kind("redis://user:S3cr3t@host?socket_timeout=3")


def test_a_value_that_cannot_be_is_not_shown_where_it_may_be_secret() -> None:
    with pytest.raises(LimitError, match="password must be a string") as caught:
        Limiter("redis://localhost", password=[b"S3cr3t"])  # type: ignore[arg-type]
    assert "S3cr3t" not in str(caught.value)


def test_the_annotations_name_every_option() -> None:
    # The clock is this language's own.
    assert set(get_type_hints(LimiterOptions)) == {*_option_names(), "clock"}


def test_every_option_may_be_none(kind: type[AnyLimiter]) -> None:
    for url in ("memory://", "redis://localhost"):
        kind(url, **dict.fromkeys([*_option_names(), "clock"]))
    with pytest.raises(TypeError, match="time_out"):
        kind(time_out=1)  # type: ignore[call-arg]


def test_errors_speak_python() -> None:
    messages = {
        "timeout must be from 0.001 to 3600 seconds, got 0.0005": {"timeout": 0.0005},
        "deny_cache must be a number of seconds, or a timedelta, got True": {"deny_cache": True},
        "max_entries must be a whole number from 1 to 1000000000000, got 2000000000000": {"max_entries": 2 * 10**12},
    }
    for message, options in messages.items():
        with pytest.raises(LimitError) as caught:
            Limiter(**options)  # type: ignore[arg-type]
        assert str(caught.value) == message


def test_a_namespace_that_is_given_is_used(kind: type[AnyLimiter], server: RedisServer) -> None:
    named = kind(server.url, layout="sharkey", namespace="tidegate", **PATIENT)
    done(named.limit(LOGIN, "ada"))
    assert server.command("GET", "tidegate:rl_ada_login_c") == "1"
    done(kind(server.url, layout="sharkey", **PATIENT).limit(LOGIN, "ada"))
    assert server.command("GET", "rl_ada_login_c") == "1"


def test_a_store_that_is_fit_says_so(kind: type[AnyLimiter], server: RedisServer) -> None:
    health = done(kind(server.url, **PATIENT).ping())
    assert isinstance(health, Health)
    assert health.servers == (f"127.0.0.1:{server.port}",)
    assert (health.memory_policy, health.warnings) == ("noeviction", ())
    assert 0 < health.round_trip < 10
    assert abs(health.clock_ahead) < 1
    assert done(kind().ping()) == Health((), 0.0, 0.0, None, ())


def test_what_is_wrong_is_said(kind: type[AnyLimiter], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tidegate")
    with pytest.raises(StoreError, match=r"no connection, redis at 127\.0\.0\.1:1"):
        done(kind("redis://127.0.0.1:1", timeout=10, on_error="allow").ping())
    with RedisServer() as server:
        server.command("CONFIG", "SET", "requirepass", "S3cr3t")
        limiter = kind(server.url, **PATIENT)

        def knows_why() -> bool:
            with pytest.raises(StoreError) as caught:
                done(limiter.ping())
            return caught.value.cause is not None

        # Its first connection is refused in the background, and a call may come between that and the reason.
        wait_for(knows_why)
        for call in (limiter.ping, lambda: limiter.limit(LOGIN, "ada"), limiter.clear):
            with pytest.raises(StoreError) as caught:
                done(call())
            assert caught.value.failure in {"denied", "unavailable"}
            assert caught.value.server == f"127.0.0.1:{server.port}"
            assert "NOAUTH" in str(caught.value.cause)
            assert "NOAUTH" in str(caught.value)
        with pytest.raises(StoreError) as caught:
            done(kind(server.url, password="wr0ng", **PATIENT).ping())
        assert "wr0ng" not in str(caught.value)
        assert done(kind(server.url, password="S3cr3t", **PATIENT).ping()).warnings == ()
        # What stands beside the URL overrides it.
        url = f"redis://somebody:else@127.0.0.1:{server.port}"
        given = kind(url, username="default", password=lambda: "S3cr3t", **PATIENT)
        assert not done(given.limit(LOGIN, "ada")).degraded
    assert not any("S3cr3t" in record.getMessage() or "wr0ng" in record.getMessage() for record in caplog.records)


def test_clearing_removes_a_namespace(kind: type[AnyLimiter], server: RedisServer) -> None:
    limiter, other = kind(server.url, **PATIENT), kind(server.url, namespace="other", **PATIENT)
    for actor in ("ada", "eve"):
        assert [done(limiter.limit(LOGIN, actor)).blocked for _ in range(2)] == [False, True]
    done(other.limit(LOGIN, "ada"))
    assert done(limiter.clear()) == 2
    assert not done(limiter.limit(LOGIN, "ada")).blocked
    assert done(other.limit(LOGIN, "ada")).blocked
    memory = kind()
    done(memory.limit(LOGIN, "ada"))
    assert (done(memory.clear()), memory.entries, done(memory.clear())) == (1, 0, 0)


@pytest.mark.parametrize("strategy", ["script", "transactions"])
def test_a_command_that_the_server_has_renamed_is_named(kind: type[AnyLimiter], strategy: Any) -> None:
    with RedisServer("--rename-command", "TIME", "") as server:
        limiter = kind(server.url, strategy=strategy, **PATIENT)
        for call in (lambda: limiter.limit(LOGIN, "ada"), limiter.ping):
            with pytest.raises(StoreError, match=r"TIME.* must be allowed to the server's user") as caught:
                done(call())
            assert caught.value.failure == "denied"


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_every_outage_is_logged_when_it_begins_and_when_it_is_over(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "tidegate")
    limiter = Limiter(server.url, timeout=2)

    def decides() -> bool:
        return not limiter.limit(LOGIN, "ada").degraded

    def told(name: str) -> int:
        return sum(vars(record).get("event") == name for record in caplog.records)

    def is_told(name: str, times: int) -> bool:
        return decides() == (name == "recovered") and told(name) == times

    eventually(decides)
    for outage in (1, 2):
        server.kill()
        eventually(partial(is_told, "degraded", outage))
        server.start()
        eventually(partial(is_told, "recovered", outage))
    assert [told(name) for name in ("degraded", "recovered")] == [2, 2]
