"""Shadow limits and candidates: decided and counted, never enforced, in memory and over Redis."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import Depends, FastAPI

from harness import Client, hello
from server import RedisServer
from tidegate import Bucket, ConfigurationError, Legacy, Limit, Limiter, LimitError, SlidingWindow
from tidegate.asgi import RateLimitMiddleware, settle
from tidegate.fastapi import RateLimit
from tidegate.fastapi import RateLimitMiddleware as FromFastAPI
from tidegate.shadow import CandidateCounts, ShadowCounts, candidate_counts, clear_counts, shadow_counts

DAY = 86_400_000


def bucket(key: str, size: int) -> Bucket:
    return Bucket(key, size=size, drip_rate=DAY)


@pytest.fixture(autouse=True)
def counts() -> Iterator[None]:
    clear_counts()
    yield
    clear_counts()


@pytest.fixture
def limiter(store: str, request: pytest.FixtureRequest) -> Iterator[Limiter]:
    with Limiter(store, namespace=request.node.name, timeout=5) as made:
        yield made


def statuses(client: Client, requests: int) -> list[int]:
    return [client.ask().status for _ in range(requests)]


def test_a_shadow_limit_is_counted_and_not_enforced(limiter: Limiter) -> None:
    client = Client(RateLimitMiddleware, limiter=limiter, limits=bucket("api", 5), shadow=bucket("strict", 2))
    answer = client.ask()
    assert answer.headers["x-ratelimit-remaining"] == "4"
    assert statuses(client, 6) == [200] * 4 + [429] * 2
    # It is decided beside denials as well.
    assert shadow_counts() == {"strict shadow": ShadowCounts(admitted=2, denied=5)}
    # Its entry has been charged for what it admitted.
    assert limiter.peek(bucket("strict shadow", 2), "ip:127.0.0.1").remaining == 0


def test_a_shadow_limit_has_counts_of_its_own_among_the_metrics(limiter: Limiter) -> None:
    limiter.metrics()
    client = Client(RateLimitMiddleware, limiter=limiter, limits=bucket("api", 5), shadow=bucket("strict", 2))
    assert statuses(client, 7) == [200] * 5 + [429] * 2
    counts = {
        (metric.name, *labels): value
        for metric in limiter.metrics()
        for labels, value in metric.samples
        if metric.name.endswith("decisions_total") and value
    }
    assert counts == {
        ("tidegate_decisions_total", "api", "allowed"): 5,
        ("tidegate_decisions_total", "api", "denied"): 2,
        ("tidegate_observed_decisions_total", "strict shadow", "allowed"): 2,
        ("tidegate_observed_decisions_total", "strict shadow", "denied"): 5,
    }


def test_a_shadow_limit_has_no_header(limiter: Limiter) -> None:
    limits = [bucket("api", 5), bucket("burst", 3)]
    client = Client(RateLimitMiddleware, limiter=limiter, limits=limits, shadow=bucket("strict", 1), headers="ietf")
    first, second = client.ask(), client.ask()
    assert first.headers["ratelimit"].startswith('"api";r=4')
    assert second.headers["ratelimit"].startswith('"api";r=3')
    assert "strict" not in first.headers["ratelimit"] + first.headers["ratelimit-policy"]
    assert client.state["rate_limit"].key == "burst"


def test_limits_in_shadow_mode(limiter: Limiter) -> None:
    limits = [bucket("api", 3), bucket("burst", 2)]
    client = Client(RateLimitMiddleware, limiter=limiter, limits=limits, shadow=True)
    answers = [client.ask() for _ in range(4)]
    assert {answer.status for answer in answers} == {200}
    assert not any("ratelimit" in name for answer in answers for name in answer.headers)
    assert shadow_counts() == {"api": ShadowCounts(3, 1), "burst": ShadowCounts(2, 2)}
    # The entries are those of the limits, so that enforcing them begins with what was used.
    enforced = Client(RateLimitMiddleware, limiter=limiter, limits=limits)
    assert enforced.ask().status == 429


def test_a_store_that_fails_fails_no_request_in_shadow_mode() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"redis://127.0.0.1:{closed.getsockname()[1]}"
    with Limiter(url, timeout=0.05, on_error="raise") as limiter:
        options = {"limiter": limiter, "limits": bucket("api", 1), "silence": "store-unreachable"}
        client = Client(RateLimitMiddleware, shadow=True, charge_on=[401], **options)
        assert statuses(client, 3) == [200] * 3
        assert client.state["rate_limit"].allowed
        assert shadow_counts() == {}
        assert Client(RateLimitMiddleware, candidate=bucket("api", 2), **options).ask().status == 503


@pytest.mark.parametrize(
    "options",
    [
        {"key": lambda _request: "a" * 70_000},
        {"key": lambda _request: {}},
        {"key": lambda _request: []},
        {"key": lambda _request: [str(number) for number in range(1001)]},
        {"key": lambda _request: int("nobody")},
        {"key": "header:x-twice"},
        {"cost": lambda _request: -1},
        {"cost": lambda _request: 10**400},
        {"factor": lambda _request: -1},
    ],
)
def test_what_is_only_tried_refuses_no_request(limiter: Limiter, options: Any) -> None:
    shadow = bucket("strict", 1)

    def behind(app: Any) -> Any:
        async def twice(scope: Any, receive: Any, send: Any) -> None:
            headers = [*scope["headers"], (b"x-twice", b"one"), (b"x-twice", b"two")]
            await app({**scope, "headers": headers}, receive, send)

        return twice

    def asked(**more: Any) -> tuple[int, Client]:
        client = Client(lambda app, **given: behind(RateLimitMiddleware(app, **given)), **more)
        return client.ask().status, client

    status, client = asked(limiter=limiter, limits=shadow, shadow=True, **options)
    assert (status, client.state["rate_limit"].allowed) == (200, True)
    assert client.state["rate_limit"].remaining == 2**53 - 1
    if "factor" in options:
        with pytest.raises(LimitError):
            asked(limiter=limiter, limits=shadow, **options)
    else:
        assert asked(limiter=limiter, limits=shadow, **options)[0] == 400
    assert shadow_counts() == {}


def test_limits_in_shadow_mode_need_no_address(limiter: Limiter) -> None:
    options: Any = {"limiter": limiter, "limits": bucket("api", 1)}
    client = Client(RateLimitMiddleware, shadow=True, **options)
    assert client.ask(peer=None).status == 200
    assert client.state["rate_limit"].allowed
    with pytest.raises(ConfigurationError):
        Client(RateLimitMiddleware, **options).ask(peer=None)


def test_an_error_of_a_function_is_passed_on_in_shadow_mode(limiter: Limiter) -> None:
    def key(_request: Any) -> str:
        raise KeyError("user")

    def wrong(_request: Any) -> Any:
        return Bucket("door", size=0)

    for options, error in (({"key": key}, KeyError), ({"key": wrong}, LimitError), ({"factor": key}, KeyError)):
        with pytest.raises(error):
            Client(RateLimitMiddleware, limiter=limiter, limits=bucket("api", 1), shadow=True, **options).ask()
    with pytest.raises(LimitError):
        Client(RateLimitMiddleware, limiter=limiter, limits=wrong, shadow=True).ask()


@pytest.mark.parametrize("bad", ["key", "cost"])
def test_what_is_only_tried_fails_no_request_of_what_is_enforced(limiter: Limiter, bad: str) -> None:
    values: dict[str, Any] = {"key": "a" * 70_000, "cost": -1}

    def served(shadow: Any, enforced: Any) -> list[int]:
        app = FastAPI()
        limits = [RateLimit(bucket("tried", 9), shadow=True, **shadow), RateLimit(bucket("api", 1), **enforced)]
        app.get("/", dependencies=[Depends(limit) for limit in limits])(lambda: "hello")
        app.add_middleware(FromFastAPI, limiter=limiter)
        return statuses(Client(lambda app: app, app=app), 2)

    wrong = {bad: lambda _request: values[bad]}
    assert served(wrong, {}) == [200, 429]
    assert shadow_counts() == {}
    assert served({}, wrong) == [400, 400]
    assert served(wrong, wrong) == [400, 400]


def test_trials_that_are_too_many_fail_no_request(limiter: Limiter) -> None:
    names = [str(number) for number in range(600)]
    for tried in ("shadow", "candidate"):
        options = {"limits": bucket(tried, 1), tried: bucket("tried", 9), "key": lambda _request: names}
        assert statuses(Client(RateLimitMiddleware, limiter=limiter, **options), 2) == [200, 429]
    assert (shadow_counts(), candidate_counts()) == ({}, {})


def test_limits_in_shadow_mode_are_given_back(limiter: Limiter) -> None:
    limits = bucket("api", 3)
    client = Client(RateLimitMiddleware, limiter=limiter, limits=limits, shadow=True, charge_on=[401])
    assert statuses(client, 5) == [200] * 5
    assert shadow_counts() == {"api": ShadowCounts(5, 0)}
    assert limiter.peek(limits, "ip:127.0.0.1").remaining == 3


def test_shadow_mode_beside_enforced_limits(limiter: Limiter) -> None:
    inner = RateLimitMiddleware(hello, limiter, bucket("strict", 1), shadow=True)
    client = Client(RateLimitMiddleware, app=inner, limiter=limiter, limits=bucket("api", 3))
    answers = [client.ask() for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[1].headers["x-ratelimit-remaining"] == "1"
    assert shadow_counts() == {"strict": ShadowCounts(1, 2)}


def test_a_stricter_candidate(limiter: Limiter) -> None:
    client = Client(RateLimitMiddleware, limiter=limiter, limits=bucket("api", 3), candidate=bucket("api", 2))
    assert statuses(client, 5) == [200, 200, 200, 429, 429]
    expected = CandidateCounts(both_admitted=2, both_denied=2, only_live_denied=0, only_candidate_denied=1)
    assert candidate_counts() == {"api": expected}
    assert expected.differing == 1


def test_the_key_of_a_candidate_as_text(limiter: Limiter) -> None:
    def left(key: str, name: str | None, *limits: Any) -> int:
        candidate = Limit.parse(f"{key} candidate", "3/day")
        before = limiter.peek(candidate, "ip:127.0.0.1").remaining
        options = {"limiter": limiter, "limits": limits, "candidate": "3/day", "name": name}
        assert Client(RateLimitMiddleware, **options).ask().status == 200
        return before - limiter.peek(candidate, "ip:127.0.0.1").remaining

    api, wide = bucket("api", 9), bucket("wide", 9)
    # Behind the key of the only limit, as in Node.
    assert left("api", None, api) == 1
    assert left("api", "shop", api) == 1
    # Several have none that it could have.
    assert left("app", None, api, wide) == 1
    assert left("shop", "shop", api, wide) == 1
    # The limit is a text as well.
    assert left("app", None, "9/day") == 1
    assert left("shop", "shop", "9/day") == 1


def test_a_looser_candidate(limiter: Limiter) -> None:
    client = Client(RateLimitMiddleware, limiter=limiter, limits=bucket("api", 2), candidate=bucket("api", 4))
    assert statuses(client, 6) == [200, 200, 429, 429, 429, 429]
    expected = CandidateCounts(both_admitted=2, both_denied=2, only_live_denied=2, only_candidate_denied=0)
    assert candidate_counts() == {"api": expected}


# It has two answers: the rate admits nine requests, and the interval between them one.
NOTES = Legacy("notes", max=9, duration=DAY, min_interval=DAY // 9, translation="exact")


def test_a_limit_that_has_two_answers(limiter: Limiter) -> None:
    for limits in (NOTES, [bucket("wide", 9), NOTES], [NOTES, bucket("wide", 9)]):
        limiter.reset(NOTES, "ip:127.0.0.1")
        client = Client(RateLimitMiddleware, limiter=limiter, limits=limits)
        assert statuses(client, 2) == [200, 429]
        assert client.state["rate_limit"].key == "notes"


def test_a_candidate_for_a_limit_that_has_two_answers(limiter: Limiter) -> None:
    options = {"limits": NOTES, "candidate": bucket("wide", 9), "shadow": bucket("strict", 2)}
    client = Client(RateLimitMiddleware, limiter=limiter, **options)
    assert statuses(client, 3) == [200, 429, 429]
    assert candidate_counts() == {"notes": CandidateCounts(1, 0, 2, 0)}
    assert shadow_counts() == {"strict shadow": ShadowCounts(2, 1)}


def test_a_candidate_that_has_two_answers(limiter: Limiter) -> None:
    inner = RateLimitMiddleware(hello, limiter, bucket("wide", 9))
    limits = [bucket("api", 9), bucket("other", 9)]
    client = Client(RateLimitMiddleware, app=inner, limiter=limiter, limits=limits, candidate=[NOTES, NOTES])
    assert statuses(client, 3) == [200] * 3
    assert list(candidate_counts().values()) == [CandidateCounts(1, 0, 0, 2)]


def test_limits_that_count_blocked_attempts(limiter: Limiter) -> None:
    def window(key: str, most: int) -> SlidingWindow:
        return SlidingWindow(key, max=most, period=DAY, resolution=DAY, count_blocked=True)

    client = Client(RateLimitMiddleware, limiter=limiter, limits=window("api", 2), candidate=window("api", 1))
    assert statuses(client, 4) == [200, 200, 429, 429]
    assert candidate_counts() == {"api": CandidateCounts(1, 2, 0, 1)}
    # Four attempts have counted, and not one more for what was observed.
    assert limiter.peek(window("api", 5), "ip:127.0.0.1").remaining == 1


def test_one_call_decides_both(redis: RedisServer) -> None:
    limiter = Limiter(redis.url, namespace="both", timeout=5)
    client = Client(RateLimitMiddleware, limiter=limiter, limits=bucket("api", 3), candidate=bucket("api", 9))
    before = limiter.stats().decisions
    assert statuses(client, 5) == [200] * 3 + [429] * 2
    # One for each request, also where one of the two denies.
    assert limiter.stats().decisions - before == 5
    assert candidate_counts() == {"api": CandidateCounts(3, 0, 2, 0)}


def test_a_refused_request_is_charged_to_a_shadow_limit_alone(limiter: Limiter) -> None:
    client = Client(RateLimitMiddleware, limiter=limiter, limits=bucket("api", 1), shadow=bucket("wide", 9))
    assert statuses(client, 4) == [200] + [429] * 3
    assert shadow_counts() == {"wide shadow": ShadowCounts(4, 0)}
    assert limiter.peek(bucket("wide shadow", 9), "ip:127.0.0.1").remaining == 5


def test_a_settlement_settles_what_is_observed(limiter: Limiter) -> None:
    async def app(scope: Any, _receive: Any, send: Any) -> None:
        settle(scope, 10)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    options = {"limits": bucket("tokens", 100), "candidate": bucket("tokens", 120), "cost": 50}
    client = Client(RateLimitMiddleware, app=app, limiter=limiter, **options)
    assert statuses(client, 3) == [200] * 3
    assert limiter.peek(bucket("tokens", 100), "ip:127.0.0.1").remaining == 70
    assert limiter.peek(bucket("tokens candidate", 120), "ip:127.0.0.1").remaining == 90
