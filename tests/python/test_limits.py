"""Definitions as objects."""

from __future__ import annotations

import copy
import pickle
from datetime import timedelta

import pytest

import tidegate
from tidegate import (
    Bucket,
    CalendarWindow,
    Decay,
    FixedWindow,
    Legacy,
    Limit,
    Limiter,
    LimitError,
    SlidingCounter,
    SlidingLog,
    SlidingWindow,
    Smooth,
    TokenBucket,
)

# Each with its wire form, and the call that its repr shows.
EXAMPLES: list[tuple[Limit, dict[str, object], str]] = [
    (
        Bucket("login", size=10),
        {"key": "login", "type": "bucket", "size": 10, "dripRate": 1000, "dripSize": 1, "factorScales": "size"},
        "Bucket('login', size=10, drip_rate=1000, drip_size=1, factor_scales='size')",
    ),
    (
        Bucket("login", size=10.5, drip_rate=0x10, drip_size=2, factor_scales="size-and-rate"),
        {
            "key": "login",
            "type": "bucket",
            "size": 10.5,
            "dripRate": 16,
            "dripSize": 2,
            "factorScales": "size-and-rate",
        },
        "Bucket('login', size=10.5, drip_rate=16, drip_size=2, factor_scales='size-and-rate')",
    ),
    (
        TokenBucket("it's", count=100, period=1000.5),
        {"key": "it's", "type": "token-bucket", "count": 100, "period": 1000.5},
        'TokenBucket("it\'s", count=100, period=1000.5)',
    ),
    (
        TokenBucket("api", count=100, period=1000, burst=20),
        {"key": "api", "type": "token-bucket", "count": 100, "period": 1000, "burst": 20},
        "TokenBucket('api', count=100, period=1000, burst=20)",
    ),
    (
        FixedWindow("daily", max=1000, period=86_400_000),
        {"key": "daily", "type": "fixed-window", "max": 1000, "period": 86_400_000, "anchor": "epoch"},
        "FixedWindow('daily', max=1000, period=86400000, anchor='epoch')",
    ),
    (
        FixedWindow("daily", max=10**12, period=1, anchor="first-request"),
        {"key": "daily", "type": "fixed-window", "max": 10**12, "period": 1, "anchor": "first-request"},
        "FixedWindow('daily', max=1000000000000, period=1, anchor='first-request')",
    ),
    (
        SlidingWindow("sms", max=5, period=3_600_000, resolution=600_000, count_blocked=True),
        {
            "key": "sms",
            "type": "sliding-window",
            "max": 5,
            "period": 3600000,
            "resolution": 600000,
            "countBlocked": True,
        },
        "SlidingWindow('sms', max=5, period=3600000, resolution=600000, count_blocked=True)",
    ),
    (
        SlidingCounter("web", max=100, period=60_000),
        {"key": "web", "type": "sliding-counter", "max": 100, "period": 60000},
        "SlidingCounter('web', max=100, period=60000)",
    ),
    (
        SlidingLog("otp", max=5, period=60_000),
        {"key": "otp", "type": "sliding-log", "max": 5, "period": 60000, "minInterval": 0, "countBlocked": False},
        "SlidingLog('otp', max=5, period=60000, min_interval=0, count_blocked=False)",
    ),
    (
        Decay("score", max=5, decay_factor=1.5, resolution=1000),
        {"key": "score", "type": "decay", "max": 5, "decayFactor": 1.5, "resolution": 1000, "countBlocked": False},
        "Decay('score', max=5, decay_factor=1.5, resolution=1000, count_blocked=False)",
    ),
    (
        Smooth("mailer", rate=0.5, warmup=3000),
        {"key": "mailer", "type": "smooth", "rate": 0.5, "maxBurst": 1000, "warmup": 3000, "coldFactor": 3},
        "Smooth('mailer', rate=0.5, max_burst=1000, warmup=3000, cold_factor=3)",
    ),
    (
        CalendarWindow("plan", max=10_000, unit="month", time_zone="Asia/Tokyo", starts_on=31),
        {
            "key": "plan",
            "type": "calendar-window",
            "max": 10_000,
            "unit": "month",
            "timeZone": "Asia/Tokyo",
            "startsOn": 31,
        },
        "CalendarWindow('plan', max=10000, unit='month', time_zone='Asia/Tokyo', starts_on=31)",
    ),
    (
        Legacy("open"),
        {"key": "open", "factorScales": "size", "translation": "bucket"},
        "Legacy('open', factor_scales='size', translation='bucket')",
    ),
    (
        Legacy("notes", max=300, duration=3_600_000, min_interval=1000, translation="exact"),
        {
            "key": "notes",
            "max": 300,
            "duration": 3_600_000,
            "minInterval": 1000,
            "factorScales": "size",
            "translation": "exact",
        },
        "Legacy('notes', max=300, duration=3600000, min_interval=1000, factor_scales='size', translation='exact')",
    ),
]
ids = [shown for _, _, shown in EXAMPLES]


@pytest.mark.parametrize(("limit", "wire", "shown"), EXAMPLES, ids=ids)
def test_the_wire_form_and_the_object_are_one(limit: Limit, wire: dict[str, object], shown: str) -> None:
    assert limit.to_dict() == wire
    assert list(limit.to_dict()) == list(wire)
    assert Limit.from_dict(wire) == limit
    assert type(Limit.from_dict(wire)) is type(limit)
    assert repr(limit) == shown
    assert eval(shown, vars(tidegate)) == limit
    assert limit.key == wire["key"]
    for name, value in wire.items():
        snake = "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)
        if name != "type":
            assert getattr(limit, snake) == value
            assert type(getattr(limit, snake)) is type(value)


@pytest.mark.parametrize(("limit", "wire", "shown"), EXAMPLES, ids=ids)
def test_copies_are_equal(limit: Limit, wire: dict[str, object], shown: str) -> None:
    copies = [copy.copy(limit), copy.deepcopy(limit), Limit.from_dict(wire)]
    copies += [pickle.loads(pickle.dumps(limit, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for other in copies:
        assert other == limit
        assert hash(other) == hash(limit)
        assert type(other) is type(limit)
    assert repr(copies[0]) == shown
    assert limit != "login"
    assert limit not in [other for other, _, _ in EXAMPLES if other is not limit]


def test_definitions_are_frozen() -> None:
    login = Bucket("login", size=10)
    for name in ("key", "size", "drip_rate", "new"):
        with pytest.raises(AttributeError):
            setattr(login, name, 1)
    with pytest.raises(TypeError):
        type("Mine", (Bucket,), {})


def test_defaults_are_the_engine_s() -> None:
    assert Bucket("k", size=1) == Limit.from_dict({"key": "k", "type": "bucket", "size": 1})
    assert Bucket("k", size=1) == Bucket("k", size=1, drip_rate=1000, drip_size=1, factor_scales="size")
    assert FixedWindow("k", max=1, period=1) == FixedWindow("k", max=1, period=1, anchor="epoch")
    assert TokenBucket("k", count=1, period=1) == TokenBucket("k", count=1, period=1, burst=None)
    log = SlidingLog("k", max=1, period=1, min_interval=0, count_blocked=False)
    assert log == Limit.from_dict({"key": "k", "type": "sliding-log", "max": 1, "period": 1})
    smooth = Smooth("k", rate=1, max_burst=1000, warmup=0, cold_factor=3)
    assert smooth == Smooth("k", rate=1) == Limit.from_dict({"key": "k", "type": "smooth", "rate": 1})
    for limit in (SlidingWindow("k", max=1, period=2, resolution=1), Decay("k", max=1, decay_factor=2, resolution=1)):
        wire = limit.to_dict()
        assert wire.pop("countBlocked") is False
        assert Limit.from_dict(wire) == limit
    assert Legacy("k") == Legacy("k", max=None, duration=None, min_interval=None, factor_scales="size")
    assert Legacy("k") == Legacy("k", translation="bucket") != Legacy("k", translation="exact")


def test_durations_may_be_timedeltas() -> None:
    minute = timedelta(minutes=1)
    assert Bucket("k", size=1, drip_rate=minute) == Bucket("k", size=1, drip_rate=60_000)
    assert TokenBucket("k", count=1, period=minute) == TokenBucket("k", count=1, period=60_000)
    assert FixedWindow("k", max=1, period=timedelta(days=2, microseconds=1500)).period == 172_800_001.5
    assert Legacy("k", max=1, duration=minute) == Legacy("k", max=1, duration=60_000)
    assert Legacy("k", min_interval=minute).min_interval == 60_000
    second = timedelta(seconds=1)
    assert SlidingWindow("k", max=1, period=minute, resolution=second).resolution == 1000
    assert SlidingLog("k", max=1, period=minute, min_interval=second).min_interval == 1000
    assert SlidingCounter("k", max=1, period=minute).period == 60_000
    assert Decay("k", max=1, decay_factor=2, resolution=second).resolution == 1000
    assert Smooth("k", rate=1, max_burst=minute, warmup=second).warmup == 1000
    for bad in (timedelta.max, timedelta.min, timedelta(-1)):
        with pytest.raises(LimitError, match="period"):
            FixedWindow("k", max=1, period=bad)


def test_a_dict_that_changes_is_read_anew() -> None:
    limiter = Limiter()
    wire: dict[str, object] = {"key": "k", "type": "bucket", "size": 3}
    for size in (3, 4, 3, 500, 501.5, 2**30, 3):
        wire["size"] = size
        assert limiter.peek(wire, "ada").quota == -(-size // 1)
        assert limiter.peek(wire, "ada").quota == -(-size // 1)
    wire["dripRate"] = 500
    limiter.charge(wire, "ada")
    assert limiter.limit(wire, "ada").full_reset_ms == 1000
    wire["size"] = True
    with pytest.raises(LimitError, match="size must be a number"):
        limiter.limit(wire, "ada")
    del wire["size"]
    with pytest.raises(LimitError, match="size must be given"):
        limiter.limit(wire, "ada")
    wire["size"], wire["key"] = 3, "other"
    assert limiter.limit(wire, "ada").key == "other"


def test_many_dicts_at_once_keep_apart() -> None:
    limiter = Limiter()
    wires = [{"key": f"k{n}", "type": "bucket", "size": n} for n in range(1, 2000)]
    for _ in range(2):
        assert [limiter.peek(wire, "ada").quota for wire in wires] == list(range(1, 2000))


def test_values_that_can_change_are_never_remembered() -> None:
    class Size(int):
        pass

    class Changing:
        value = 1

        def __index__(self) -> int:
            return self.value

    limiter, size = Limiter(), Changing()
    wire = {"key": "k", "type": "bucket", "size": size}
    assert limiter.peek(wire, "ada").quota == 1
    size.value = 2
    assert limiter.peek(wire, "ada").quota == 2
    assert limiter.peek({**wire, "size": Size(7)}, "ada").quota == 7


def test_a_limiter_may_be_used_while_it_reads_a_definition() -> None:
    limiter, login = Limiter(), Bucket("login", size=10)

    class Nested:
        def __index__(self) -> int:
            return limiter.limit({"key": "inner", "type": "bucket", "size": 5}, "ada").quota

    assert limiter.limit({"key": "outer", "type": "bucket", "size": Nested()}, "ada").quota == 5
    assert limiter.limit(login, "ada", Nested()).remaining == 5  # type: ignore[arg-type]


def test_what_is_made_of_a_definition_is_a_copy() -> None:
    login = Bucket("login", size=10)
    login.to_dict()["size"] = 5
    assert login.size == login.to_dict()["size"] == 10
    assert Limiter().limit(login, "ada").remaining == 9
