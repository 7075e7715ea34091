"""The common part of the modules for web frameworks: the golden answers, and what is Python's own."""

from __future__ import annotations

import json
import logging
from collections import UserDict
from collections.abc import Callable
from email.message import Message
from ipaddress import IPv4Address, IPv6Network, ip_network
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from tidegate import Bucket, ConfigurationError, Limiter, LimitError, LimitInfo, parse_headers
from tidegate._http import MISTAKES, Gate, GateOptions, forget_mistakes
from tidegate._tidegate import _Plan

ROOT = Path(__file__).parents[2]
VECTORS = json.loads((ROOT / "tests" / "vectors" / "http.json").read_text())


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def gate(options: dict[str, Any]) -> Gate:
    return Gate(**{snake(name): value for name, value in options.items()})


def answer(case: dict[str, Any]) -> LimitInfo:
    limiter = Limiter()
    for step in case["steps"]:
        checks = [(limit, "a", cost) for limit, cost in zip(case["limits"], step["costs"])]
        info = limiter.limit_all(checks, now=step["now"])
    return info


@pytest.mark.parametrize("case", VECTORS["clients"], ids=lambda case: case["says"])
def test_clients(case: dict[str, Any]) -> None:
    asked = gate(case["options"])
    raw = [(asked.forwarded_header.encode(), line.encode()) for line in case["lines"]]
    headers = [(b"host", b"example.com"), *raw, (b"x-other", b"1.2.3.4")]
    lists = [list(pair) for pair in headers]
    ways: list[tuple[Callable[..., str], Any]] = [
        (asked.client, case["lines"]),
        (asked.client, [line.encode() for line in case["lines"]]),
        (
            lambda peer, headers: asked.client_of(
                {"client": None if peer is None else (peer, 4711), "headers": headers}
            ),
            headers,
        ),
        (
            lambda peer, headers: asked.client_of(
                {"client": None if peer is None else [peer, 4711], "headers": headers}
            ),
            lists,
        ),
    ]
    for way, lines in ways:
        if "mistake" not in case:
            assert way(case["peer"], lines) == case["actor"]
            continue
        with pytest.raises(ConfigurationError) as error:
            way(case["peer"], lines)
        assert error.value.code == case["mistake"]


@pytest.mark.parametrize("case", VECTORS["headers"], ids=lambda case: case["says"])
def test_headers(case: dict[str, Any]) -> None:
    infos = [answer(each) for each in case["answers"]]
    asked = gate(case["options"])
    assert dict(asked.headers(infos, case["status"])) == case["headers"]

    def carried(own: Any, infos: Any, *keeps: bool) -> Any:
        message = {"type": "http.response.start", "status": case["status"], "headers": own}
        carrying = asked.carrying(message, infos, *keeps)
        assert (message["headers"], carrying["status"]) == (own, case["status"])
        assert asked.carrying(UserDict(message, headers=list(own)), infos, *keeps) == carrying
        return carrying["headers"]

    raw = asked.carrying({"status": case["status"]}, infos)["headers"]
    assert raw == [(name.lower().encode(), value.encode()) for name, value in asked.headers(infos, case["status"])]
    if len(infos) == 1:
        assert carried((), infos[0]) == raw
    own = [(b"Vary", b"Accept"), *((name.title(), b"of another") for name, _ in raw), (b"vary", b"Cookie")]
    kept = [(b"Vary", b"Accept"), (b"vary", b"Cookie")]
    assert carried(own, infos) == kept + raw
    assert carried(own, infos, True) == own
    assert carried(own[:2], infos, True) == own[:2] + raw[1:]
    message = {"status": case["status"], "headers": iter([list(pair) for pair in own])}
    assert asked.carrying(message, infos)["headers"] == [*(list(pair) for pair in kept), *raw]


def test_limits_of_a_client() -> None:
    asked, limiter, scope = Gate(), Limiter(), {"client": ("2001:db8::1", 1), "headers": []}
    door, day = Bucket("door", size=5, drip_rate=60_000), Bucket("day", size=9, drip_rate=60_000)
    client, info = asked.limit_client(limiter, door, scope, cost=2)
    assert (client, info.remaining, info.key) == ("ip:2001:db8::/64", 3, "door")
    assert limiter.peek(door, client).remaining == 3
    client, info = asked.limit_client(limiter, (door, day), scope, factor=0.5)
    assert [check.remaining for check in info.checks] == [7, 17]
    assert limiter.refund(info).remaining == 8
    with pytest.raises(LimitError, match="cost"):
        asked.limit_client(limiter, door, scope, -1)
    with pytest.raises(ConfigurationError, match="no-client-address"):
        asked.limit_client(limiter, door, {"headers": []})


def test_a_scope_without_a_client() -> None:
    asked = Gate()
    assert asked.client_of({"client": ("testclient", 50000), "headers": []}) == "ip:127.0.0.1"
    assert asked.client_of(UserDict(client=("203.0.113.9", 1), headers=())) == "ip:203.0.113.9"
    nobodies: list[Any] = [{"headers": []}, UserDict(headers=[])]
    for scope in nobodies:
        with pytest.raises(ConfigurationError, match="no-client-address"):
            asked.client_of(scope)
    wrong: Any
    for wrong in ({"client": ("203.0.113.9", 1)}, {"client": 5, "headers": []}, {"headers": [b"x"]}, 5, None):
        with pytest.raises((TypeError, LookupError, AttributeError, LimitError)):
            asked.client_of(wrong)
    for wrong in ([5], [()], [(b"x",)], 5):
        with pytest.raises((TypeError, IndexError)):
            asked.carrying({"status": 200, "headers": wrong}, LimitInfo())


@pytest.mark.parametrize("case", VECTORS["refusals"], ids=lambda case: case["says"])
def test_refusals(case: dict[str, Any]) -> None:
    infos = [answer(each) for each in case["answers"]]
    refusal = gate(case["options"]).refusal(infos, case["accept"], detail=case.get("detail"))
    body: Any = refusal.body.decode()
    assert (json.loads(body) if isinstance(case["body"], dict) else body) == case["body"]
    assert dict(refusal.headers) == case["headers"]
    assert len(refusal.headers) == len(case["headers"])
    assert (refusal.status, refusal.media_type, refusal.retry_after) == (
        case["status"],
        case["mediaType"],
        case["retryAfter"],
    )
    assert refusal.raw_headers == [(name.lower().encode(), value.encode()) for name, value in refusal.headers]


@pytest.mark.parametrize("case", VECTORS["parsed"], ids=lambda case: case["says"])
def test_headers_read_back(case: dict[str, Any]) -> None:
    read = parse_headers([tuple(pair) for pair in case["headers"]], now=case["now"])
    want = {snake(name): value for name, value in case["limits"].items() if name != "policies"}
    assert {name: value for name, value in read._asdict().items() if name != "policies"} == want
    policies = [{snake(name): value for name, value in policy.items()} for policy in case["limits"]["policies"]]
    assert [policy._asdict() for policy in read.policies] == policies


@pytest.mark.parametrize("case", VECTORS["combined"], ids=lambda case: case["says"])
def test_combined_checks(case: dict[str, Any]) -> None:
    checks = [(*check, 1, 1.0)[:4] if len(check) < 4 else tuple(check) for check in case["checks"]]
    kept = [(*checks[index][:2], cost, checks[index][3]) for index, cost in case["kept"]]
    assert _Plan([(checks, None, None)]).checks == kept


@pytest.mark.parametrize("case", VECTORS["refused options"], ids=lambda case: json.dumps(case["options"]))
def test_refused_options(case: dict[str, Any]) -> None:
    with pytest.raises(LimitError) as error:
        gate(case["options"])
    assert error.value.field == snake(case["field"])
    assert str(error.value).startswith(error.value.field)


def test_the_types_have_every_option() -> None:
    names = get_type_hints(GateOptions)
    assert len(names) == 10
    Gate(**dict.fromkeys(names))
    with pytest.raises(TypeError, match="unexpected keyword argument 'trusted'"):
        Gate(trusted=1)  # type: ignore[call-arg]


def test_networks_of_the_standard_library() -> None:
    networks = [ip_network("10.0.0.0/8"), IPv6Network("2001:db8::/32"), IPv4Address("192.0.2.1")]
    for proxies in (networks, tuple(networks), set(networks)):
        asked = Gate(trusted_proxies=proxies)  # type: ignore[arg-type]
        assert asked.client("192.0.2.1", "203.0.113.9, 10.0.0.1, 2001:db8::1") == "ip:203.0.113.9"
    assert Gate(trusted_proxies="10.0.0.0/8").client("10.0.0.1", "203.0.113.9") == "ip:203.0.113.9"
    assert Gate(trusted_proxies=networks[2]).client("192.0.2.1", "203.0.113.9") == "ip:203.0.113.9"
    assert Gate(trusted_proxies=[]).trusts_nobody


def test_lines_that_are_no_text() -> None:
    asked = Gate(trusted_proxies=1)
    assert asked.client("10.0.0.1", ["\ud800", b"\xff\xfe"]) == "ip:10.0.0.1"
    assert asked.client("10.0.0.1", None) == "ip:10.0.0.1"
    for wrong in (1, [1], [None]):
        with pytest.raises(TypeError):
            asked.client("10.0.0.1", wrong)  # type: ignore[arg-type]
    with pytest.raises(LimitError, match="peer must be a string or None"):
        asked.client(1)  # type: ignore[arg-type]


def test_mistakes_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def told() -> list[logging.LogRecord]:
        return [record for record in caplog.records if hasattr(record, "tidegate_code")]

    caplog.set_level(logging.WARNING, "tidegate")
    forget_mistakes()
    for _ in range(3):
        assert Gate(scope="shop").client("10.0.0.1", ["203.0.113.9"]) == "ip:10.0.0.1"
    [record] = told()
    assert record.name == "tidegate"
    assert record.getMessage().startswith("forwarded-not-trusted: ")
    assert record.__dict__["tidegate_code"] == "forwarded-not-trusted"
    caplog.clear()

    asked = Gate(scope="shop", silence=["same-key-twice"])
    assert [asked.report("counted-twice", "login"), asked.report("counted-twice", "api")] == [True, False]
    assert not asked.report("same-key-twice")
    assert not Gate(scope="shop").report("counted-twice")
    assert Gate(scope="blog").report("counted-twice")
    assert [record.getMessage().split(":")[0] for record in told()] == ["counted-twice"] * 2
    assert "(login)" in told()[0].getMessage()
    forget_mistakes()
    assert Gate(scope="shop").report("counted-twice")
    with pytest.raises(LimitError, match='code must be "forwarded-not-trusted"'):
        asked.report("oops")


def test_every_mistake_has_a_page() -> None:
    assert len(MISTAKES) == 16
    pages = {page.stem: page.read_text() for page in (ROOT / "docs" / "errors").glob("*.md")}
    assert set(MISTAKES) <= set(pages)
    for code in MISTAKES:
        assert pages[code].startswith(f"# {code}\n")


def test_errors_point_to_pages_that_everybody_can_open() -> None:
    top = "https://github.com/tidegate/tidegate/blob/main/"
    for code in MISTAKES:
        page = ConfigurationError("made up", code).page
        assert page.startswith(top)
        assert (ROOT / page.removeprefix(top)).read_text().startswith(f"# {code}\n")
    with pytest.raises(ConfigurationError) as failed:
        Gate().client(None)
    assert failed.value.page == ConfigurationError("made up", failed.value.code).page
    assert str(failed.value).endswith(f"; see {failed.value.page}")
    assert ConfigurationError("without a code").page == ""


def test_headers_of_many_containers() -> None:
    info = Limiter().limit(Bucket("login", size=10), "ada")
    headers = info.headers("both")
    message = Message()
    for name, value in headers.items():
        message[name] = value
    want = parse_headers(headers)
    assert (want.remaining, want.policies[0].name) == (9, "login")
    assert parse_headers(headers.items()) == want
    assert parse_headers([(name.encode(), value.encode()) for name, value in headers.items()]) == want
    assert parse_headers(message) == want  # type: ignore[arg-type]
    assert parse_headers({}).policies == ()


@pytest.mark.parametrize(
    "headers", [None, 5, "RateLimit: 1", b"ab", ["RateLimit"], [("RateLimit",)], [(1, "2")], {"a": 1}]
)
def test_what_are_no_headers(headers: Any) -> None:
    with pytest.raises(LimitError, match=r"^headers must be a mapping, or pairs of names and values, got an object of"):
        parse_headers(headers)


def test_malformed_text_is_passed_over() -> None:
    odd = {"RateLimit": '"a\ud800";r=1;t=2', "Retry-After": "5", "X\udc80": "1"}
    assert parse_headers(odd).retry_after_ms == 5000


def test_answers_that_are_no_answers() -> None:
    for wrong in (None, 1, [None], ["x"]):
        with pytest.raises((LimitError, TypeError)):
            Gate().headers(wrong)  # type: ignore[arg-type]
    made = LimitInfo(blocked=True, reset_ms=1500, key="login")
    assert dict(Gate().refusal(made).headers)["Retry-After"] == "2"
