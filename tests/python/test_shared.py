"""The store in memory that processes share: real processes of both languages, which are killed and stopped."""

from __future__ import annotations

import asyncio
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from children import in_a_child
from tidegate import AsyncLimiter, Bucket, Limiter, SlidingLog

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
LOGIN = Bucket("login", size=1000, drip_rate=3_600_000)
# On a busy machine a process may stand still for long.
PATIENT = 20

PYTHON = """
import sys
from tidegate import Bucket, Limiter
url, count = sys.argv[1], int(sys.argv[2])
limiter = Limiter(url, timeout=20)
login = Bucket("login", size=1000, drip_rate=3_600_000)
print(sum(limiter.limit(login, "ada").allowed for _ in range(count)))
"""
NODE = """
import { Limiter, bucket } from 'tidegate'
const [url, count] = process.argv.slice(1)
const limiter = new Limiter(url, { timeoutMs: 20000 })
const login = bucket({ key: 'login', size: 1000, dripRate: 3_600_000 })
let admitted = 0
for (let call = 0; call < Number(count); call++) admitted += (await limiter.limit(login, 'ada')).blocked ? 0 : 1
console.log(admitted)
"""


@pytest.fixture
def url() -> Iterator[str]:
    name = f"test-{uuid.uuid4().hex}"
    yield f"shm://{name}?entries=5000"
    file(name).unlink(missing_ok=True)


def file(name: str) -> Path:
    return Path("/dev/shm") / f"tidegate-{os.geteuid()}-{name}"


def start(language: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PYTHON] if language == "python" else ["node", "--input-type=module", "-e", NODE]
    return subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_processes_of_both_languages_admit_what_there_is_and_no_more(url: str) -> None:
    languages = ["python", "python", *(["node", "node"] if shutil.which("node") else [])]
    workers = [start(language, url, "400") for language in languages]
    admitted = [int(worker.communicate(timeout=120)[0]) for worker in workers]
    assert sum(admitted) == min(1000, 400 * len(workers)), admitted
    limiter = Limiter(url, timeout=PATIENT)
    assert limiter.peek(LOGIN, "ada").remaining == 1000 - sum(admitted)
    stats = limiter.stats()
    assert (stats.entries, stats.processes) == (1, 1)
    assert limiter.ping().servers == ()
    assert limiter.clear() == 1


def test_a_forked_child_shares_the_table_and_its_parent_stays(url: str) -> None:
    limiter = Limiter(url, timeout=PATIENT)

    def child() -> bool:
        admitted = sum(limiter.limit(LOGIN, "ada").allowed for _ in range(600))
        return admitted == 600 and limiter.stats().processes == 2 and limiter.stats().admitted == 600

    assert in_a_child(child) == 0
    assert sum(limiter.limit(LOGIN, "ada").allowed for _ in range(600)) == 400
    assert limiter.stats().processes == 1


def test_it_is_pickled_by_its_name_and_asked_from_an_event_loop(url: str) -> None:
    limiter = Limiter(url, namespace="shop", timeout=PATIENT)
    assert limiter.limit(LOGIN, "ada").remaining == 999
    again = pickle.loads(pickle.dumps(limiter))
    assert again.limit(LOGIN, "ada").remaining == 998

    async def ask() -> int:
        async with AsyncLimiter(url, namespace="shop", timeout=PATIENT) as shop:
            return (await shop.limit(LOGIN, "ada")).remaining

    assert asyncio.run(ask()) == 997
    with pytest.raises(ValueError, match=r"url must have no option but entries, got .*size=7"):
        Limiter(f"{url}&size=7")
    with pytest.raises(ValueError, match="it has 5000 entries, not 7"):
        Limiter(url.replace("=5000", "=7"))


BUSY = """
import sys
from tidegate import Bucket, Limiter, SlidingLog
url, seed = sys.argv[1:]
limiter = Limiter(url, timeout=20)
log = SlidingLog("log", max=3000, period=3_600_000)
bucket = Bucket("bucket", size=3000, drip_rate=3_600_000)
print("ready", flush=True)
call = int(seed)
while True:
    call += 1
    limiter.limit([log, bucket], f"actor {call % 20}")
"""


def test_processes_that_are_killed_leave_a_sound_table(url: str) -> None:
    limiter = Limiter(url, timeout=PATIENT)
    log = SlidingLog("log", max=3000, period=3_600_000)
    end = time.monotonic() + 4
    kills = 0
    while time.monotonic() < end:
        workers = [
            subprocess.Popen([sys.executable, "-c", BUSY, url, str(seed)], stdout=subprocess.PIPE, text=True)
            for seed in range(2)
        ]
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        time.sleep(0.001 * (kills % 7))
        for worker in workers:
            worker.kill()
            worker.communicate()
            kills += 1
        began = time.monotonic()
        assert not limiter.limit(log, "somebody else").degraded
        assert time.monotonic() - began < 5
    assert limiter.ping().warnings == ()
    assert limiter.stats().processes == 1
    assert limiter.stats().degraded == 0


def test_a_process_that_stops_in_the_middle_costs_others_their_timeout_once(url: str) -> None:
    """It may stop anywhere; now and then it holds a lock, and then others answer by their policy until it goes on."""
    limiter = Limiter(url, timeout=0.05, on_error="deny")
    log = SlidingLog("log", max=3000, period=3_600_000)
    worker = subprocess.Popen([sys.executable, "-c", BUSY, url, "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        for _ in range(100):
            time.sleep(0.002)
            worker.send_signal(signal.SIGSTOP)
            answers = [limiter.peek(log, f"actor {actor}") for actor in range(20)]
            worker.send_signal(signal.SIGCONT)
            assert all(answer.blocked for answer in answers if answer.degraded)
    finally:
        worker.kill()
        worker.communicate()
    patient = Limiter(url, timeout=PATIENT)
    assert not any(patient.limit(log, f"actor {actor}").degraded for actor in range(20))
