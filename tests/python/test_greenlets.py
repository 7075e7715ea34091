"""Greenlets over a shared store: whoever waits leaves the thread to the others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from proxy import SlowProxy
from server import RedisServer

DELAY = 0.05

START = """
import json, logging, sys, time, warnings
warnings.simplefilter("ignore")
logging.disable()
PATCHED, URL = sys.argv[1] == "patched", sys.argv[2]
import gevent, gevent.monkey
if PATCHED:
    gevent.monkey.patch_all()
spawn, sleep, Stop = gevent.spawn, gevent.sleep, gevent.GreenletExit
join, kill = gevent.joinall, gevent.kill
from tidegate import *
LIMIT = Bucket("limit", size=1000, drip_rate=3_600_000)
limiter = Limiter(URL, timeout=10, on_error="raise", deny_cache=0)
assert not limiter.limit(LIMIT, "warm").degraded
def tell(**facts):
    print(json.dumps(facts))
    sys.stdout.flush()
"""


@pytest.fixture(scope="module")
def slow(fleet: RedisServer) -> Iterator[str]:
    with SlowProxy(fleet.port, DELAY) as proxy:
        yield proxy.url


@pytest.fixture(params=["patched", "plain"])
def run(request: pytest.FixtureRequest, slow: str, fleet: RedisServer) -> Any:
    fleet.command("FLUSHALL")

    def run(code: str) -> Any:
        command = [sys.executable, "-c", START + code, request.param, slow]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.clock
def test_fifty_wait_together(run: Any) -> None:
    told = run("""
beats, over = 0, False
def beat():
    global beats
    while not over:
        sleep(0.005)
        beats += 1
heart = spawn(beat)
infos = []
began = time.perf_counter()
join([spawn(lambda: infos.append(limiter.limit(LIMIT, "ada"))) for _ in range(50)])
took = time.perf_counter() - began
over = True
join([heart])
tell(took=took, beats=beats, remaining=sorted(info.remaining for info in infos))
""")
    assert told["remaining"] == list(range(950, 1000)), "each has an answer of its own"
    assert DELAY * 0.9 < told["took"] < 10 * DELAY, "one delay or a few, and not fifty"
    assert told["beats"] >= 3, "others run meanwhile"


def test_every_call_waits_so(run: Any) -> None:
    told = run("""
counts = {}
def counted(name, call):
    beats, over = 0, False
    def beat():
        nonlocal beats
        while not over:
            sleep(0.005)
            beats += 1
    heart = spawn(beat)
    job = spawn(call)
    join([job])
    over = True
    join([heart])
    counts[name] = beats
pay = Bucket("pay", size=1, drip_rate=100)
info = limiter.limit(LIMIT, "ada")
other = limiter.limit(LIMIT, "ada", 5)
counted("peek", lambda: limiter.peek(LIMIT, "ada"))
counted("charge", lambda: limiter.charge(LIMIT, "ada"))
counted("refund", lambda: limiter.refund(info))
counted("settle", lambda: limiter.settle(other, 2))
counted("explain", lambda: limiter.explain(LIMIT, "ada"))
counted("limit_all", lambda: limiter.limit_all([(LIMIT, "ada"), (pay, "ada")]))
counted("reset", lambda: limiter.reset(LIMIT, "ada"))
counted("acquire", lambda: limiter.acquire(pay, "ada", max_wait=10))
counted("ping", lambda: limiter.ping())
counted("clear", lambda: limiter.clear())
tell(**counts)
""")
    assert min(told.values()) >= 3, told


def test_one_that_is_killed_while_it_waits_gives_its_turn_back(run: Any) -> None:
    told = run("""
pay = Bucket("pay", size=1, drip_rate=3_600_000)
limiter.limit(pay, "ada")
waiting = [spawn(limiter.acquire, pay, "ada") for _ in range(5)]
call = spawn(limiter.limit, LIMIT, "ada")
sleep(0.02)
kill(call)
until = time.perf_counter() + 10
while (before := limiter.peek(pay, "ada").full_reset_ms) <= 5 * 3_500_000 and time.perf_counter() < until:
    sleep(0.02)
for job in waiting:
    kill(job)
until = time.perf_counter() + 10
while limiter.peek(pay, "ada").full_reset_ms > 3_600_000 and time.perf_counter() < until:
    sleep(0.02)
tell(before=before, after=limiter.peek(pay, "ada").full_reset_ms, next=limiter.limit(LIMIT, "eve").remaining)
""")
    assert told["before"] > 5 * 3_500_000
    assert 0 < told["after"] <= 3_600_000
    assert told["next"] == 999


def test_errors_reach_the_greenlet(run: Any) -> None:
    told = run("""
said = []
def call(limiter, *arguments):
    try:
        limiter.limit(*arguments)
    except Exception as error:
        said.append(type(error).__name__)
gone = Limiter("redis://127.0.0.1:1", on_error="raise")
join([spawn(call, gone, LIMIT, "ada"), spawn(call, limiter, LIMIT, "ada", 5000), spawn(call, limiter, LIMIT, 5)])
tell(said=sorted(said))
""")
    assert told["said"] == ["LimitError", "LimitError", "StoreError"]


@pytest.mark.parametrize("patched", ["patched", "plain"])
def test_the_hub_ends_by_itself(slow: str, patched: str) -> None:
    code = """
job = spawn(limiter.limit, LIMIT, "ada")
began = time.perf_counter()
gevent.wait(timeout=10)
tell(done=job.successful(), in_time=time.perf_counter() - began < 5)
"""
    command = [sys.executable, "-c", START + code, patched, slow]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert json.loads(done.stdout) == {"done": True, "in_time": True}, done.stderr


def test_a_program_that_is_patched_late_ends_in_silence(fleet: RedisServer) -> None:
    code = (
        "import sys, tidegate\n"
        "limiter = tidegate.Limiter(sys.argv[1], timeout=10)\n"
        "limiter.ping()\n"
        "import gevent.monkey\n"
        "gevent.monkey.patch_all()\n"
        "assert not limiter.limit(tidegate.Bucket('late', size=5), 'ada').degraded\n"
    )
    command = [sys.executable, "-c", code, fleet.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("patched", ["patched", "plain"])
def test_an_outage_is_logged_while_greenlets_wait(patched: str) -> None:
    code = """
logging.disable(logging.NOTSET)
logging.basicConfig(level="INFO", format="%(threadName)s %(levelname)s %(event)s", stream=sys.stdout)
gone = Limiter("redis://127.0.0.1:1")
join([spawn(gone.limit, LIMIT, "ada") for _ in range(20)])
sleep(0.5)
"""
    with RedisServer() as server:
        command = [sys.executable, "-c", START + code, patched, server.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = set(done.stdout.splitlines())
    assert lines == {"tidegate-log WARNING breaker-open", "tidegate-log WARNING degraded"}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_parent_and_child_each_get_their_answers(run: Any) -> None:
    told = run("""
import os
join([spawn(limiter.limit, LIMIT, "ada") for _ in range(5)])
read, write = os.pipe()
child = gevent.os.fork()
answers = []
join([spawn(lambda: answers.append(limiter.limit(LIMIT, "ada").remaining)) for _ in range(20)])
if child == 0:
    os.write(write, json.dumps(answers).encode())
    os._exit(0)
os.close(write)
# The loop of gevent may have waited for the child already.
theirs = json.loads(os.read(read, 100_000))
tell(all=sorted(answers + theirs))
""")
    assert told["all"] == list(range(955, 995))
