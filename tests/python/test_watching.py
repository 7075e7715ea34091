"""Documents that change while the program runs, and overrides in documents."""

from __future__ import annotations

import copy
import gc
import json
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from server import RedisServer
from tidegate import Bucket, Limiter, LimitError, Limits, LimitsError, TokenBucket, WatchedLimits

# Long, for a machine that is busy with other work.
PATIENCE = 60.0

DOCUMENT = """
api = "100/minute"
login = { type = "bucket", size = 10 }

[[overrides]]
actor = "acme"
limit = "api"
definition = "5000/minute"

[[overrides]]
pattern = "team-*"
factor = 0.5

[[overrides]]
actor = "monitor"
unlimited = true
"""


@pytest.fixture
def path() -> Iterator[Path]:
    # Not in pytest's folder, whose name may be too long to be told whole.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "limits.toml"
        file.write_text(DOCUMENT)
        yield file


@pytest.fixture
def watched(path: Path) -> Iterator[WatchedLimits]:
    with Limits.watch(path, every=3600) as limits:
        yield limits


def put(path: Path, text: str) -> None:
    """Writes a document at once: a file that is half written could be read as well."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_check_has_the_first_override_of_its_actor() -> None:
    limits = Limits.from_text(DOCUMENT, "toml")
    api, login = limits["api"], limits["login"]
    assert limits.check("api", "ada") == (api, "ada", 1, 1.0)
    assert limits.check("api", "acme", 3) == (TokenBucket("api", count=5000, period=60_000), "acme", 3, 1.0)
    assert limits.check("login", "acme") == (login, "acme", 1, 1.0)
    assert limits.check("login", "team-7") == (login, "team-7", 1, 0.5)
    assert limits.check("api", "monitor") == (api, "monitor", 1, 0.0)
    assert limits.check("api", "\ud800")[0] is api
    with pytest.raises(KeyError, match="nobody"):
        limits.check("nobody", "ada")
    limiter = Limiter()
    assert limiter.limit_all([limits.check("api", "acme"), limits.check("login", "acme")]).remaining == 9
    assert not any(limiter.limit_all([limits.check("login", "monitor")]).blocked for _ in range(20))


def test_overrides_of_a_mapping() -> None:
    login = Bucket("login", size=10)
    entries = [
        {"actor": "ada", "limit": "login", "definition": Bucket("login", size=99)},
        {"actor": "bob", "limit": "login", "definition": {"type": "bucket", "size": 5}},
        {"pattern": "*-bot", "factor": 2},
    ]
    limits = Limits.from_dict({"login": login, "overrides": entries})
    assert limits.check("login", "ada")[0] == Bucket("login", size=99)
    assert limits.check("login", "bob")[0] == Bucket("login", size=5)
    assert limits.overrides[2] == {"pattern": "*-bot", "factor": 2.0}
    assert limits == Limits.from_dict({"limits": {"login": login}, "overrides": tuple(entries)})
    assert limits != Limits.from_dict({"login": login})
    assert limits != {"login": login}
    assert Limits.from_dict({"login": login}) == {"login": login}
    with pytest.raises(TypeError):
        hash(limits)
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    with pytest.raises(LimitsError) as raised:
        Limits.from_dict({"login": login, "overrides": [{"actor": "ada", "factor": -1}, cyclic]})
    assert [fault.path for fault in raised.value.errors] == ["overrides[0].factor", "overrides[1]"]


def test_copies_and_pickles_have_the_overrides(watched: WatchedLimits) -> None:
    for limits in (Limits.from_text(DOCUMENT, "toml"), watched):
        for again in (pickle.loads(pickle.dumps(limits)), copy.copy(limits), copy.deepcopy(limits)):
            assert type(again) is Limits
            assert again == limits
            assert again.check("api", "acme") == limits.check("api", "acme")


def test_the_limits_are_always_those_that_hold_now(path: Path, watched: WatchedLimits) -> None:
    assert (list(watched), len(watched), watched["api"].key) == (["api", "login"], 2, "api")
    assert not watched.reload()
    before = watched["login"]
    limiter = Limiter()
    assert limiter.limit(watched["login"], "ada", 4).remaining == 6
    path.write_text("login = { type = 'bucket', size = 20 }")
    assert watched.reload()
    assert list(watched) == ["login"]
    assert watched["login"] != before
    # What was used stays used.
    assert limiter.limit(watched["login"], "ada").remaining == 15
    assert "login" in repr(watched)


def test_a_wrong_document_changes_nothing(path: Path, watched: WatchedLimits) -> None:
    path.write_text("api = '10/fortnight'")
    for _ in range(2):
        with pytest.raises(LimitsError, match="fortnight"):
            watched.reload()
    path.unlink()
    with pytest.raises(LimitsError, match="cannot be read"):
        watched.reload()
    assert watched.check("api", "acme")[0] == TokenBucket("api", count=5000, period=60_000)


def test_limits_that_were_selected_have_to_stay(path: Path, watched: WatchedLimits) -> None:
    selected = watched.select("login")
    assert (list(selected), selected.values()) == (["login"], [watched["login"]])
    with pytest.raises(KeyError):
        watched.select("login", "nobody")
    path.write_text("api = '10/s'")
    with pytest.raises(LimitsError, match="login: must be given"):
        watched.reload()
    path.write_text("login = '10/s'")
    assert watched.reload()
    assert selected.values() == [watched["login"]]


def test_changes_and_mistakes_are_called_and_logged_once(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    told: Queue[object] = Queue()

    def failing(what: object) -> None:
        told.put(what)
        raise RuntimeError("of the program")

    errors: list[object] = []
    hook, sys.excepthook = sys.excepthook, lambda *raised: errors.append(raised[1])
    try:
        with (
            caplog.at_level(logging.INFO, "tidegate"),
            Limits.watch(path, every=0.02, on_change=failing, on_error=failing) as watched,
        ):
            put(path, "api = '5/s'")
            assert told.get(timeout=PATIENCE) is watched
            put(path, "api = '5/fortnight'")
            error = told.get(timeout=PATIENCE)
            assert isinstance(error, LimitsError)
            assert error.errors[0].path == "api"
            put(path, "api = '7/s'")
            assert told.get(timeout=PATIENCE) is watched
            assert watched["api"] == TokenBucket("api", count=7, period=1000)
            # It is raised after it has been told here.
            wait_for(lambda: len(errors) == 3)
    finally:
        sys.excepthook = hook
    assert [str(error) for error in errors] == ["of the program"] * 3
    events = [(record.levelname, record.event, record.source) for record in caplog.records]  # type: ignore[attr-defined]
    changed, wrong = ("INFO", "limits-changed", str(path)), ("WARNING", "limits-wrong", str(path))
    assert events == [changed, wrong, changed]


def test_limits_that_are_closed_stay_as_they_are(path: Path) -> None:
    watched = Limits.watch(path, every=0.01)
    watched.close()
    path.write_text("api = '5/s'")
    time.sleep(0.5)
    assert len(watched) == 2


def test_limits_that_nobody_has_are_watched_no_more(path: Path) -> None:
    watched = Limits.watch(path, every=0.01)
    known = weakref.ref(watched)
    del watched
    gc.collect()
    wait_for(lambda: known() is None)


def test_a_text_under_a_key_of_a_server_is_watched(server: RedisServer) -> None:
    key = "limits/of test.toml"
    source = f"{server.url}/limits%2Fof%20test.toml"
    with pytest.raises(LimitsError, match="there is no such key"):
        Limits.watch(source)
    server.command("SET", key, "api = '100/minute'")
    told: Queue[object] = Queue()
    with Limits.watch(source, every=0.02, on_change=told.put, on_error=told.put) as watched:
        server.command("SET", key, "api = '5/s'")
        assert told.get(timeout=PATIENCE) is watched
        assert watched["api"] == TokenBucket("api", count=5, period=1000)
        server.command("SET", key, "api = '5/fortnight'")
        assert isinstance(told.get(timeout=PATIENCE), LimitsError)
        assert "limits/of test.toml" in repr(watched)
    with pytest.raises(LimitError, match="must end with / and the key of a document"):
        Limits.watch(server.url)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"every": 0}, "every must be above 0 seconds, got 0"),
        ({"every": "2"}, "every must be above 0 seconds, got '2'"),
        ({"every": float("nan")}, "every must be above 0"),
        ({"on_change": 5}, "on_change must be a function, got 5"),
    ],
)
def test_options_are_checked(path: Path, options: dict[str, Any], error: str) -> None:
    with pytest.raises(LimitError, match=error):
        Limits.watch(path, **options)


def test_the_first_document_has_to_be_sound(path: Path) -> None:
    path.write_text("api = 5")
    with pytest.raises(LimitsError, match="api: must be text or a table"):
        Limits.watch(path)
    with pytest.raises(LimitsError, match="cannot be read"):
        Limits.watch(path.with_name("nowhere.toml"))
    path.write_text("api = '5/second'")
    with Limits.watch(os.fsencode(path)) as watched:  # type: ignore[arg-type]
        assert list(watched) == ["api"]


def test_a_program_ends_while_it_watches(path: Path) -> None:
    code = f"from tidegate import Limits; limits = Limits.watch({str(path)!r}, every=0.001); print(len(limits))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert (ended.stdout, ended.stderr) == ("2\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_forked_child_watches_too(path: Path) -> None:
    code = f"""
import json, os, sys, time
from pathlib import Path
from tidegate import Limits

path = Path({str(path)!r})
limits = Limits.watch(path, every=0.001)
selected = limits.select("api")
# Many, so that some are forked while a thread looks.
children = []
while len(children) < 20 and 0 not in children:
    children.append(os.fork())
if 0 in children:
    until = time.monotonic() + {PATIENCE}
    while len(limits) != 3 and time.monotonic() < until:
        time.sleep(0.01)
    os._exit(len(limits))
path.write_text("api = '1/s'\\nb = '1/s'\\nc = '1/s'\\n")
print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]))
"""
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, timeout=2 * PATIENCE)
    assert json.loads(ended.stdout) == [3] * 20, ended.stderr
