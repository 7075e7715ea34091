"""Any text names an actor; what is no text is refused with a word of advice."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from typing import Any
from uuid import UUID

import pytest

from calls import done
from server import RedisServer
from test_redis import PATIENT, namespace
from tidegate import AsyncLimiter, Bucket, Limiter, LimitError

DOOR = Bucket("door", size=1, drip_rate=3_600_000)
LONGEST = 64 * 1024
UNUSUAL = [
    *["", "a\0b", "🦊" * 10, "\n", "__proto__", "é", "\uffff", "\U0010ffff", "a" * 201, "a" * LONGEST],
    *["🦊" * (LONGEST // 4), "\ufffd"],
]


@pytest.fixture(params=["memory", "redis"])
def make(request: pytest.FixtureRequest) -> Callable[[type], Any]:
    if request.param == "memory":
        return lambda kind: kind()
    fleet: RedisServer = request.getfixturevalue("fleet")
    name = namespace()
    return lambda kind: kind(fleet.url, namespace=name, **PATIENT)


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
@pytest.mark.parametrize("actor", UNUSUAL, ids=lambda actor: ascii(actor)[:20])
def test_unusual_actors_are_actors(make: Any, kind: type, actor: str) -> None:
    limiter = make(kind)
    info = done(limiter.limit(DOOR, actor))
    assert info.allowed
    assert done(limiter.limit(DOOR, actor)).blocked
    assert done(limiter.limit([DOOR, Bucket("hall", size=1)], actor)).blocked
    assert done(limiter.limit(DOOR, actor[1:] + "b")).allowed, "another one"
    assert done(limiter.refund(info)).remaining == 1
    assert "would admit" in str(done(limiter.explain(DOOR, actor)))
    assert done(limiter.acquire(DOOR, actor, max_wait=0)).allowed
    done(limiter.reset(DOOR, actor))
    assert done(limiter.limit_all([(DOOR, actor)])).allowed


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
@pytest.mark.parametrize("actor", ["\udc80", "ada\ud800", "\ud83e\udd8a", "é" * 100 + "\udfff"], ids=ascii)
def test_what_is_not_unicode_is_refused(make: Any, kind: type, actor: str) -> None:
    limiter = make(kind)
    hall = {"key": "hall", "type": "bucket", "size": 1}
    calls: list[Callable[[], Any]] = []
    for verb in ("limit", "peek", "charge", "refund", "reset", "acquire", "explain"):
        calls.append(partial(getattr(limiter, verb), DOOR, actor))
        calls.append(partial(getattr(limiter, verb), [DOOR, hall], actor))
        calls.append(partial(getattr(limiter, verb), lambda _: DOOR, actor, context=1))
    for verb in ("limit_all", "peek_all"):
        calls.append(partial(getattr(limiter, verb), [(DOOR, actor)]))
        calls.append(partial(getattr(limiter, verb), [(hall, "ada"), (DOOR, actor, 2)]))
    for call in calls:
        with pytest.raises(LimitError) as caught:
            done(call())
        problem = "must be well-formed, without lone surrogates, got a string with a lone surrogate"
        assert str(caught.value) == f'limit "door": actor {problem}'
        assert (caught.value.key, caught.value.field) == ("door", "actor")
    for same in ("\ufffd", "ada\ufffd", "\ufffd\ufffd", "🦊", "é" * 100 + "\ufffd", "ada"):
        assert done(limiter.peek_all([(DOOR, same), (hall, same)])).remaining == 1, "nothing was stored"


@pytest.mark.parametrize("actor", ["a" * (LONGEST + 1), "é" * (LONGEST // 2 + 1)])
def test_longer_ones_are_refused(make: Any, actor: str) -> None:
    limiter = make(Limiter)
    with pytest.raises(LimitError, match=r'^limit "door": actor must be at most 65536 bytes long, got 6\d+ bytes$'):
        limiter.limit(DOOR, actor)


@pytest.mark.parametrize(
    ("actor", "shown"),
    [
        (42, "42"),
        (UUID(int=1), "an object of type UUID"),
        (ip_address("127.0.0.1"), "an object of type IPv4Address"),
        (ip_address("::1"), "an object of type IPv6Address"),
    ],
)
def test_what_could_be_text_is_told_how(make: Any, actor: Any, shown: str) -> None:
    with pytest.raises(LimitError) as caught:
        make(Limiter).limit(DOOR, actor)
    assert str(caught.value) == f'limit "door": actor must be a string: use str(), got {shown}'


@pytest.mark.parametrize("actor", [None, True, b"ada", 1.5, ["ada"]])
def test_what_would_only_seem_to_name_somebody_is_not(make: Any, actor: Any) -> None:
    with pytest.raises(LimitError, match=r'^limit "door": actor must be a string, got'):
        make(Limiter).limit(DOOR, actor)
