"""Wrong arguments of every kind: a clear error or an exact answer, and never a stored entry."""

from __future__ import annotations

import math
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from calls import AnyLimiter, done
from tidegate import (
    AsyncLimiter,
    Bucket,
    CalendarWindow,
    ClosedError,
    Decay,
    FixedWindow,
    Legacy,
    Limit,
    Limiter,
    LimitError,
    LimitInfo,
    Limits,
    LimitsError,
    SlidingCounter,
    SlidingLog,
    SlidingWindow,
    Smooth,
    StoreError,
    TidegateError,
    TokenBucket,
)


class Indexed:
    """An integer as numpy has them."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __index__(self) -> Any:
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


class Floating:
    def __float__(self) -> float:
        return 1.0


class Hostile(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        raise RuntimeError("no")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")

    def __len__(self) -> int:
        return 1


HUGE = 10**400
NOT_NUMBERS = [
    *["1", "", "NaN", b"1", True, False, [1], (1,), {}, {"a": 1}, object(), lambda: 1, 1j, Decimal(1), Fraction(1)],
    *[Floating(), Indexed(RuntimeError("no")), Indexed("1"), "\udc80", timedelta(seconds=1)],
]
# What JSON has no word for; the rest is in `test_refusals.py`, for all languages.
PYTHONS_OWN = [
    *[None, HUGE, -HUGE, b"1", (1,), object(), lambda: 1, 1j, Decimal(1), Fraction(1)],
    *[Floating(), Indexed(RuntimeError("no")), Indexed("1"), "\udc80", timedelta(seconds=1)],
]
NEVER = [math.nan, math.inf, -math.inf, -1, -0.5, -(2**53), HUGE, -HUGE, *NOT_NUMBERS]
# A duration in seconds may be a `timedelta`.
NOT_SECONDS: list[object] = [
    3600.001,
    *(value for value in NEVER if not isinstance(value, timedelta)),
    timedelta(-1),
    timedelta(1),
]
NOT_POLICIES: list[object] = ["", "Local", "\udc80", None, True, 1, b"local", []]
NOT_ACTORS = [None, 1, 1.5, True, b"ada", ["ada"], {}, object()]
LIMITS: dict[str, dict[str, object]] = {
    "bucket": {"key": "k", "type": "bucket", "size": 10, "dripRate": 1000, "dripSize": 1, "factorScales": "size"},
    "token-bucket": {"key": "k", "type": "token-bucket", "count": 10, "period": 1000, "burst": 2},
    "fixed-window": {"key": "k", "type": "fixed-window", "max": 10, "period": 1000, "anchor": "epoch"},
    "sliding-window": {
        "key": "k",
        "type": "sliding-window",
        "max": 10,
        "period": 1000,
        "resolution": 100,
        "countBlocked": True,
    },
    "sliding-counter": {"key": "k", "type": "sliding-counter", "max": 10, "period": 1000},
    "sliding-log": {
        "key": "k",
        "type": "sliding-log",
        "max": 10,
        "period": 1000,
        "minInterval": 10,
        "countBlocked": True,
    },
    "decay": {"key": "k", "type": "decay", "max": 10, "decayFactor": 2, "resolution": 1000, "countBlocked": True},
    "smooth": {"key": "k", "type": "smooth", "rate": 10, "maxBurst": 10, "warmup": 10, "coldFactor": 2},
    "calendar-window": {"key": "k", "type": "calendar-window", "max": 10, "unit": "month", "startsOn": 15},
    "legacy": {
        "key": "k",
        "max": 10,
        "duration": 1000,
        "minInterval": 10,
        "factorScales": "size",
        "translation": "exact",
    },
}
NUMBERS = [
    (kind, field)
    for kind, wire in LIMITS.items()
    for field, value in wire.items()
    if not isinstance(value, (str, bool))
]
CHOICES = [
    (kind, field)
    for kind, wire in LIMITS.items()
    for field in wire
    if field in ("factorScales", "anchor", "translation", "unit")
]
CLASSES: dict[str, Callable[..., Limit]] = {
    "bucket": Bucket,
    "token-bucket": TokenBucket,
    "fixed-window": FixedWindow,
    "sliding-window": SlidingWindow,
    "sliding-counter": SlidingCounter,
    "sliding-log": SlidingLog,
    "decay": Decay,
    "smooth": Smooth,
    "calendar-window": CalendarWindow,
    "legacy": Legacy,
}
CALLS = ["limit", "peek", "charge", "refund", "acquire"]
LOGIN = Bucket("login", size=10)


def snake(name: str) -> str:
    """A field of the wire form as Python spells it."""
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)


def shown(value: object) -> str:
    return f"{type(value).__name__}:{ascii(value)[:20]}"


@pytest.fixture(autouse=True)
def nothing_is_stored(request: pytest.FixtureRequest) -> Iterator[None]:
    limiter = request.getfixturevalue("limiter") if "limiter" in request.fixturenames else None
    yield
    assert limiter is None or limiter.entries == 0


def refused(call: Callable[[], Any], key: str, field: str) -> LimitError:
    with pytest.raises(LimitError) as caught:
        done(call())
    error = caught.value
    assert (error.key, error.field) == (key, field)
    assert str(error).startswith(f'limit "{key}": {field} ' if key else f"{field} ")
    assert str(error).endswith(f"got {error.value}")
    assert str(error).isprintable()
    assert len(str(error)) < 400
    return error


@pytest.mark.parametrize("value", PYTHONS_OWN, ids=shown)
@pytest.mark.parametrize(("kind", "field"), NUMBERS)
def test_numbers_of_definitions(kind: str, field: str, value: object, limiter: AnyLimiter) -> None:
    wire = {**LIMITS[kind], field: value}
    refused(lambda: Limit.from_dict(wire), "k", field)
    for call in CALLS:
        refused(lambda call=call: getattr(limiter, call)(wire, "ada"), "k", field)  # type: ignore[misc]
    refused(lambda: limiter.reset(wire, "ada"), "k", field)
    refused(lambda: limiter.limit([LOGIN, wire], "ada"), "k", field)
    refused(lambda: limiter.limit_all([(LOGIN, "ada"), (wire, "ada")]), "k", field)


@pytest.mark.parametrize(("kind", "field"), NUMBERS)
@pytest.mark.parametrize("value", [v for v in PYTHONS_OWN if not isinstance(v, (timedelta, type(None)))], ids=shown)
def test_numbers_of_classes(kind: str, field: str, value: object) -> None:
    wire = {**LIMITS[kind], field: value}
    arguments = {snake(name): given for name, given in wire.items() if name not in ("key", "type")}
    refused(lambda: CLASSES[kind]("k", **arguments), "k", snake(field))


@pytest.mark.parametrize(("kind", "field"), CHOICES)
@pytest.mark.parametrize("value", [None, "\udc80", object()], ids=shown)
def test_choices(kind: str, field: str, value: object) -> None:
    refused(lambda: Limit.from_dict({**LIMITS[kind], field: value}), "k", field)


@pytest.mark.parametrize("value", [b"k", object(), "k" * 65_537], ids=shown)
def test_keys(value: Any, limiter: AnyLimiter) -> None:
    for kind, wire in LIMITS.items():
        with pytest.raises(LimitError) as caught:
            Limit.from_dict({**wire, "key": value})
        assert caught.value.field == "key", kind
    with pytest.raises(LimitError, match="key"):
        Bucket(value, size=1)
    with pytest.raises(LimitError, match="key"):
        done(limiter.limit({**LIMITS["bucket"], "key": value}, "ada"))


@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("name", ["", "\0", "\udc80"], ids=ascii)
def test_unknown_fields(kind: str, name: str) -> None:
    with pytest.raises(LimitError, match="is not a field of this type") as caught:
        Limit.from_dict({**LIMITS[kind], name: 1})
    assert caught.value.key == "k"


@pytest.mark.parametrize("name", [1, None, b"size", ("size",)], ids=shown)
def test_names_that_are_not_strings(name: Any, limiter: AnyLimiter) -> None:
    wire = {"key": "k", "type": "bucket", "size": 1, name: 1}
    refused(lambda: Limit.from_dict(wire), "k", "limit")
    refused(lambda: limiter.limit(wire, "ada"), "k", "limit")


@pytest.mark.parametrize("kind", [None, "\udc80", object()], ids=shown)
def test_unknown_types(kind: object) -> None:
    refused(lambda: Limit.from_dict({"key": "k", "type": kind, "size": 1}), "k", "type")


@pytest.mark.parametrize(
    "limit",
    [
        None,
        1,
        1.5,
        "login",
        "100/minute",
        b"",
        True,
        object(),
        {1},
        iter([]),
        Hostile(),
        Bucket,
        [None],
        [[LOGIN]],
        ["login"],
    ],
    ids=shown,
)
def test_things_that_are_no_limits(limit: Any, limiter: AnyLimiter) -> None:
    for call in CALLS:
        refused(lambda call=call: getattr(limiter, call)(limit, "ada"), "", "limit")  # type: ignore[misc]
    refused(lambda: limiter.reset(limit, "ada"), "", "limit")
    if not isinstance(limit, list):
        refused(lambda: Limit.from_dict(limit), "", "limit")


def test_the_cause_of_a_mapping_that_cannot_be_read() -> None:
    with pytest.raises(LimitError) as caught:
        Limit.from_dict(Hostile())
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("actor", NOT_ACTORS, ids=shown)
def test_actors(actor: Any, limiter: AnyLimiter) -> None:
    for call in [*CALLS, "reset"]:
        refused(lambda call=call: getattr(limiter, call)(LOGIN, actor), "login", "actor")  # type: ignore[misc]
        refused(lambda call=call: getattr(limiter, call)([LOGIN, LOGIN], actor), "login", "actor")  # type: ignore[misc]
    refused(lambda: limiter.limit_all([(LOGIN, "ada"), (LOGIN, actor)]), "login", "actor")


@pytest.mark.parametrize("cost", [*NEVER, None, 0.5, 1.5, 2**53 + 1, 2**53 + 2, 10**30, 1e300], ids=shown)
def test_costs(cost: Any, limiter: AnyLimiter) -> None:
    for call in CALLS:
        refused(lambda call=call: getattr(limiter, call)(LOGIN, "ada", cost), "login", "cost")  # type: ignore[misc]
        refused(lambda call=call: getattr(limiter, call)([LOGIN], "ada", cost=cost), "login", "cost")  # type: ignore[misc]
    refused(lambda: limiter.limit_all([(LOGIN, "ada"), (LOGIN, "ada", cost)]), "login", "cost")
    refused(lambda: limiter.peek_all([(LOGIN, "ada", cost)]), "login", "cost")


@pytest.mark.parametrize("cost", [11, 2**52, 2**53])
def test_costs_that_never_fit(cost: int, limiter: AnyLimiter) -> None:
    for call in ["limit", "peek", "acquire"]:
        refused(lambda call=call: getattr(limiter, call)(LOGIN, "ada", cost), "login", "cost")  # type: ignore[misc]


@pytest.mark.parametrize("factor", [*NEVER, None], ids=shown)
def test_factors(factor: Any, limiter: AnyLimiter) -> None:
    for call in CALLS:
        refused(lambda call=call: getattr(limiter, call)(LOGIN, "ada", 1, factor), "login", "factor")  # type: ignore[misc]
    refused(lambda: limiter.limit_all([(LOGIN, "ada"), (LOGIN, "ada", 1, factor)]), "login", "factor")


@pytest.mark.parametrize("now", [*NEVER, 1e300, 2**53], ids=shown)
def test_times(now: Any, limiter: AnyLimiter) -> None:
    for call in CALLS:
        refused(lambda call=call: getattr(limiter, call)(LOGIN, "ada", now=now), "login", "now")  # type: ignore[misc]
    refused(lambda: limiter.limit_all([(LOGIN, "ada")], now=now), "login", "now")


@pytest.mark.parametrize(
    "max_wait", [v for v in [*NEVER, 1e300] if not isinstance(v, timedelta)] + [timedelta(seconds=-1)], ids=shown
)
def test_longest_waits(max_wait: Any, limiter: AnyLimiter) -> None:
    refused(lambda: limiter.acquire(LOGIN, "ada", max_wait=max_wait), "login", "max_wait")


@pytest.mark.parametrize(
    "checks",
    [None, 1, "login", LOGIN, {}, [None], [LOGIN], [()], [(LOGIN,)], [(LOGIN, "a", 1, 1.0, 1)], [{"limit": LOGIN}]],
    ids=shown,
)
def test_things_that_are_no_checks(checks: Any, limiter: AnyLimiter) -> None:
    refused(lambda: limiter.limit_all(checks), "", "checks")
    refused(lambda: limiter.peek_all(checks), "", "checks")


def test_an_interrupt_is_not_taken_for_bad_input(limiter: AnyLimiter) -> None:
    for interrupt in (KeyboardInterrupt(), SystemExit()):
        with pytest.raises(type(interrupt)):
            done(limiter.limit(LOGIN, "ada", Indexed(interrupt)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url",
    [
        "redis:/:secret@localhost",
        "http://:secret@localhost",
        "memory:",
        "memory://x",
        "",
        "secret",
        "\udc80",
        "redis:" * 999,
    ],
)
def test_addresses_of_stores_that_are_not_there(url: str) -> None:
    with pytest.raises(ValueError, match="url must be") as caught:
        Limiter(url)
    assert "secret" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "url",
    [
        "redis://:secret@localhost:port",
        "redis://:secret@localhost/0?database=secret",
        "redis://:secret@localhost:1,localhost:2",
        "redis+cluster://:secret@localhost/1",
        "redis+sentinel://:secret@localhost",
    ],
)
def test_addresses_that_make_no_sense(url: str) -> None:
    error = refused(lambda: Limiter(url), "", "url")
    assert ":secret" not in str(error)
    assert ":secret" not in error.value


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
@pytest.mark.parametrize("url", ["memory://", "redis://127.0.0.1:1"])
@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("timeout", value) for value in [0, *NOT_SECONDS]),
        *(("deny_cache", value) for value in NOT_SECONDS),
        *(("wait_replicas", value) for value in [-1, 0.5, 2**32, 10**30, math.nan, True, "1", [1]]),
        *(
            (name, value)
            for name in ("on_error", "strategy", "layout", "ssl_cert_reqs")
            for value in NOT_POLICIES
            if value is not None
        ),
        *(("timeout", value) for value in [0.0005, timedelta(microseconds=999)]),
        *(("max_entries", value) for value in [0, -1, 0.5, math.nan, 2 * 10**12, HUGE, True, "1", []]),
        *((name, 1) for name in ("namespace", "username", "password", "sentinel_username", "sentinel_password")),
        *((name, 1) for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")),
        ("ssl_keyfile", "key.pem"),
    ],
    ids=shown,
)
def test_options_of_a_store(kind: type[AnyLimiter], url: str, option: str, value: Any) -> None:
    refused(lambda: kind(url, **{option: value}), "", option)


@pytest.mark.parametrize(
    "seconds", [0.001, 1, 3600, timedelta(milliseconds=1), timedelta(hours=1), Indexed(1)], ids=shown
)
def test_options_that_are_well(seconds: Any) -> None:
    for url in ("memory://", "redis://127.0.0.1:1"):
        Limiter(url, timeout=seconds, deny_cache=seconds, ssl_ca_certs=None, ssl_certfile=None, ssl_keyfile=None)
    Limiter(deny_cache=0)
    Limiter("redis://127.0.0.1:1", deny_cache=1e-300)


@pytest.mark.parametrize("replicas", [0, 3, 2**32 - 1, Indexed(2)], ids=shown)
def test_numbers_of_replicas_that_are_well(replicas: Any) -> None:
    for url in ("memory://", "redis://127.0.0.1:1"):
        Limiter(url, wait_replicas=replicas)


def test_certificates_that_are_none(tmp_path: Path) -> None:
    missing, empty = tmp_path / "missing.pem", tmp_path / "empty.pem"
    empty.write_bytes(b"")
    tls = "rediss://localhost"
    refused(lambda: Limiter(tls, ssl_ca_certs=missing), "", "ssl_ca_certs")
    refused(lambda: Limiter(tls, ssl_certfile=str(missing)), "", "ssl_certfile")
    refused(lambda: Limiter(tls, ssl_certfile=empty, ssl_keyfile=missing), "", "ssl_keyfile")
    refused(lambda: Limiter("redis://localhost", ssl_ca_certs=empty), "", "url")


def test_namespaces() -> None:
    names: list[Any] = ["\udc80", 1, b"shop", object()]
    for name in names:
        refused(partial(Limiter, namespace=name), "", "namespace")
    for value in (None, 1, b"shop", object()):
        with pytest.raises(LimitError, match="url must be a string"):
            Limiter(value)  # type: ignore[arg-type]


def test_python_refuses_what_is_not_an_argument() -> None:
    with pytest.raises(TypeError, match="size"):
        Bucket("k")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="dripRate"):
        Bucket("k", size=1, dripRate=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="patience"):
        Limiter(patience=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="cannot create"):
        Limit()


@pytest.mark.parametrize("cost", [2, 2.0, Indexed(2)], ids=shown)
def test_unusual_numbers_are_numbers(cost: Any) -> None:
    limiter = Limiter()
    assert limiter.limit(LOGIN, "ada", cost).remaining == 8
    assert limiter.limit(UserDict({"key": "login", "type": "bucket", "size": Indexed(10)}), "ada").remaining == 7


def test_values_are_spelled_as_python_spells_them() -> None:
    said = {
        "None": None,
        "True": True,
        "nan": math.nan,
        "inf": math.inf,
        '"none"': "none",
    }
    for spelled, value in said.items():
        with pytest.raises(LimitError) as caught:
            Bucket("login", size=1, drip_rate=value)  # type: ignore[arg-type]
        assert caught.value.field == "drip_rate"
        assert str(caught.value).endswith(f"got {spelled}")
        with pytest.raises(LimitError) as caught:
            Limit.from_dict({"key": "login", "type": "bucket", "size": 1, "dripRate": value})
        assert caught.value.field == "dripRate", "as it stands in the mapping"
        assert str(caught.value).endswith(f"got {spelled}")


@pytest.mark.parametrize(("wait", "told"), [(-1.5, r"-1\.5"), (1e308, "1e308")])
def test_a_wait_is_refused_as_it_was_given(wait: float, told: str) -> None:
    with pytest.raises(LimitError, match=rf"max_wait must be at least 0 seconds and at most 9007199254, got {told}$"):
        Limiter().acquire(LOGIN, "ada", max_wait=wait)


def test_one_base_class_and_one_type_per_cause() -> None:
    for error, builtin in [(LimitError, ValueError), (LimitsError, ValueError), (StoreError, ConnectionError)]:
        assert issubclass(error, TidegateError)
        assert issubclass(error, builtin)
    assert issubclass(ClosedError, TidegateError)
    info = Limiter().limit(LOGIN, "ada")
    wrong: list[Callable[[], object]] = [
        lambda: Limiter(5),  # type: ignore[arg-type]
        lambda: Limiter("ftp://"),
        lambda: Limiter(namespace=5),  # type: ignore[arg-type]
        lambda: Limiter(timeout="5"),  # type: ignore[arg-type]
        lambda: Limiter(on_error="never"),  # type: ignore[arg-type]
        lambda: Limiter(clock=5),  # type: ignore[arg-type]
        lambda: Limiter().limit(LOGIN, 5),  # type: ignore[arg-type]
        lambda: info.headers(5),  # type: ignore[arg-type]
        lambda: info.headers("z"),  # type: ignore[arg-type]
        lambda: info.headers(draft="5"),  # type: ignore[arg-type]
        lambda: Limits.from_text("", "ini"),  # type: ignore[arg-type]
        lambda: LimitInfo(remaining=-1),
    ]
    for call in wrong:
        with pytest.raises(LimitError):
            call()


@pytest.mark.parametrize("said", [{"remaining": -1}, {"remaining": 1.5}, {"remaining": "1"}, {"retry_after": -1}])
def test_what_an_upstream_server_cannot_have_said(said: dict[str, Any], limiter: AnyLimiter) -> None:
    with pytest.raises(LimitError) as caught:
        done(limiter.observe(LIMITS["bucket"], "ada", **said))
    assert (caught.value.key, caught.value.field) == ("k", *said)


@pytest.mark.parametrize("kind", ["sliding-window", "sliding-counter", "sliding-log", "decay", "calendar-window"])
def test_what_no_upstream_server_can_raise(kind: str, limiter: AnyLimiter) -> None:
    with pytest.raises(LimitError, match="observe can raise") as caught:
        done(limiter.observe(LIMITS[kind], "ada", remaining=1))
    assert (caught.value.key, caught.value.field, limiter.entries) == ("k", "type", 0)
    with pytest.raises(LimitError, match="must be given"):
        done(limiter.observe(LIMITS["bucket"], "ada"))


@pytest.mark.parametrize("time", [-1, math.nan, math.inf, "1", None, True, timedelta(days=200 * 365)])
def test_a_time_that_no_block_can_have(time: Any, limiter: AnyLimiter) -> None:
    with pytest.raises(LimitError) as caught:
        done(limiter.block(Bucket("k", size=1, block_for=1000), "ada", time))
    assert (caught.value.key, caught.value.field, limiter.entries) == ("k", "time", 0)
