"""A shared store across forks and at the end of the interpreter."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time
from datetime import timedelta

import pytest

from children import in_a_child
from server import RedisServer
from test_redis import PATIENT, namespace, wait_for
from test_redis_loops import OPEN, descriptors
from tidegate import AsyncLimiter, Bucket, Limiter, SlidingLog

pytestmark = pytest.mark.clock

SLOW = Bucket("slow", size=1000, drip_rate=timedelta(hours=1))
TIMEOUT = 1.0

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")


def in_time(limiter: Limiter | AsyncLimiter, kind: str) -> bool:
    """Tell if the store answers the first call of a process, before its deadline."""
    began = time.perf_counter()
    if kind == "sync":
        assert isinstance(limiter, Limiter)
        info = limiter.limit(SLOW, "ada")
    else:
        assert isinstance(limiter, AsyncLimiter)
        info = asyncio.run(limiter.limit(SLOW, "ada"))
    return not info.degraded and time.perf_counter() - began < TIMEOUT + 0.05


@forks
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_forked_children_make_connections_of_their_own(fleet: RedisServer, kind: str) -> None:
    name = namespace()
    limiter = (Limiter if kind == "sync" else AsyncLimiter)(fleet.url, namespace=name, timeout=TIMEOUT)
    assert in_time(limiter, kind)
    for _ in range(100):
        assert in_a_child(lambda: in_time(limiter, kind) and limiter.stats().decisions == 1) == 0
        assert in_time(limiter, kind)
    assert Limiter(fleet.url, namespace=name).peek(SLOW, "ada").remaining == 1000 - 201


@forks
def test_children_that_are_forked_off_while_a_thread_reads_its_own_answers(fleet: RedisServer) -> None:
    limiter = Limiter(fleet.url, namespace=namespace(), timeout=TIMEOUT)
    over = threading.Event()

    def calls() -> None:
        while not over.is_set():
            limiter.peek(SLOW, "eve")

    thread = threading.Thread(target=calls)
    thread.start()
    try:
        for _ in range(30):
            assert in_a_child(lambda: in_time(limiter, "sync") and in_time(limiter, "sync")) == 0
    finally:
        over.set()
        thread.join()
    # And this thread does.
    for _ in range(30):
        for _ in range(20):
            limiter.peek(SLOW, "eve")
        assert in_a_child(lambda: in_time(limiter, "sync")) == 0
    assert in_time(limiter, "sync")


@forks
@pytest.mark.parametrize("fault", ["pause", "kill"])
def test_forked_children_wait_no_longer_than_a_deadline_for_a_server_that_is_away(
    server: RedisServer, fault: str
) -> None:
    limiter = Limiter(server.url, timeout=TIMEOUT)
    assert not limiter.limit(SLOW, "ada").degraded
    getattr(server, fault)()

    def first_call() -> bool:
        began = time.perf_counter()
        # A busy machine may add to it, but an attempt to connect is only over after four deadlines.
        return limiter.limit(SLOW, "ada").degraded and time.perf_counter() - began < 3 * TIMEOUT

    for _ in range(4):
        assert in_a_child(first_call) == 0


@forks
def test_forks_while_other_threads_are_at_it(fleet: RedisServer) -> None:
    limiter = Limiter(fleet.url, namespace=namespace(), timeout=TIMEOUT)
    coroutines = AsyncLimiter(fleet.url, namespace=namespace(), timeout=TIMEOUT)
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            limiter.limit(SLOW, "eve")

    async def busy_loop() -> None:
        while not stop.is_set():
            await asyncio.gather(*(coroutines.limit(SLOW, "eve") for _ in range(20)))

    threads = [threading.Thread(target=busy) for _ in range(2)]
    threads.append(threading.Thread(target=lambda: asyncio.run(busy_loop())))
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert in_a_child(lambda: in_time(limiter, "sync") and in_time(coroutines, "async")) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert in_time(limiter, "sync")


def charge(limiter: Limiter, times: int) -> int:
    return sum(not limiter.limit(SLOW, "ada").blocked for _ in range(times))


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_workers_of_a_preloaded_program(fleet: RedisServer) -> None:
    name = namespace()
    limiter = Limiter(fleet.url, namespace=name, **PATIENT)
    limiter.limit(SLOW, "ada")
    with multiprocessing.get_context("fork").Pool(8) as pool:
        admitted = pool.starmap(charge, [(limiter, 200)] * 8)
    assert sum(admitted) == 999
    assert limiter.limit(SLOW, "ada").blocked


@forks
def test_a_child_logs_for_itself(server: RedisServer) -> None:
    script = """
        import logging, os, sys, time
        from tidegate import Bucket, Limiter
        logging.basicConfig(level="INFO", format="%(process)d %(event)s", stream=sys.stdout)
        limiter = Limiter(sys.argv[1], timeout=0.1)
        limiter.limit(Bucket("login", size=10), "ada")
        os.kill(int(sys.argv[2]), 19)
        child = os.fork()
        for _ in range(4):
            limiter.limit(Bucket("login", size=10), "ada")
        time.sleep(0.3)
        if child:
            os.waitpid(child, 0)
            print(os.getpid(), child)
    """
    assert server.process is not None
    out = run(script, server.url, str(server.process.pid)).splitlines()
    events = ("breaker-open", "degraded")
    assert sorted(f"{process} {event}" for process in out[-1].split() for event in events) == sorted(out[:-1])


def run(script: str, *arguments: str) -> str:
    """The output of a program of its own, which ends well and complains about nothing."""
    strict = ["-W", "default", "-W", "ignore::DeprecationWarning", "-X", "faulthandler"]
    command = [sys.executable, *strict, "-c", textwrap.dedent(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


EXITS = {
    "sync threads": """
        import threading
        limiter = Limiter(sys.argv[1], timeout=20)
        def work():
            limiter.limit(DOOR, "ada")
        for _ in range(200):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.05)
    """,
    "a closed loop": """
        limiter = AsyncLimiter(sys.argv[1], timeout=20)
        async def main():
            tasks = [asyncio.ensure_future(limiter.limit(DOOR, "ada")) for _ in range(200)]
            tasks += [asyncio.ensure_future(limiter.acquire(DOOR, "ada")) for _ in range(200)]
            await asyncio.sleep(0.05)
        asyncio.run(main())
    """,
    "exit in a coroutine": """
        limiter = AsyncLimiter(sys.argv[1], timeout=20)
        async def main():
            tasks = [asyncio.ensure_future(limiter.limit(DOOR, "ada")) for _ in range(200)]
            await asyncio.sleep(0.05)
            sys.exit(0)
        asyncio.run(main())
    """,
    "answers on their way": """
        limiter = AsyncLimiter(sys.argv[1], timeout=20)
        async def main():
            tasks = [asyncio.ensure_future(limiter.limit(DOOR, str(actor))) for actor in range(200)]
            await asyncio.sleep(0)
        asyncio.run(main())
    """,
    "nothing but a limiter": """
        limiter = Limiter(sys.argv[1])
        coroutines = AsyncLimiter(sys.argv[1])
    """,
}


@pytest.mark.parametrize("paused", [False, True], ids=["well", "paused"])
@pytest.mark.parametrize("name", EXITS)
def test_a_program_ends_at_once_whatever_is_under_way(server: RedisServer, name: str, paused: bool) -> None:
    head = "import asyncio, sys, time\nfrom tidegate import *\nDOOR = Bucket('door', size=1000)\n"
    if paused:
        server.pause()
    began = time.perf_counter()
    for _ in range(3):
        run(head + textwrap.dedent(EXITS[name]), server.url)
    assert time.perf_counter() - began < 15


@pytest.mark.skipif(sys.platform != "linux", reason="the C library's own functions, by their names")
def test_threads_that_outlive_the_interpreter_leave_it_alone(server: RedisServer) -> None:
    script = """
        import ctypes, sys, threading, time
        from tidegate import Bucket, Limiter
        limiter = Limiter(sys.argv[1], timeout=20)
        for _ in range(20):
            threading.Thread(target=limiter.limit, args=(Bucket("door", size=1), "ada"), daemon=True).start()
        # The process outlives Python for longer than a wait goes on without a look at signals.
        libc = ctypes.CDLL(None)
        libc["__cxa_atexit"](libc.usleep, ctypes.c_void_p(300_000), None)
        time.sleep(0.1)
    """
    server.pause()
    assert run(script, server.url) == ""


@pytest.mark.parametrize("killed", [False, True], ids=["well", "killed"])
def test_a_thread_that_comes_back_while_python_ends_does_not_crash_the_process(
    server: RedisServer, killed: bool
) -> None:
    """Python stops the thread by unwinding its stack, through the frames of the library."""
    script = """
        import logging, sys, threading, time
        from tidegate import Bucket, Limiter
        logging.getLogger("tidegate").addHandler(logging.NullHandler())
        limiter = Limiter(sys.argv[1], timeout=0.05)
        door, calls = Bucket("door", size=1000), threading.Semaphore(0)
        def work():
            while True:
                limiter.limit(door, "ada")
                calls.release()
        class Last:
            # Python is half gone, and lets other threads run.
            def __del__(self, sleep=time.sleep):
                sleep(0.2)
        last = Last()
        threading.Thread(target=work, daemon=True).start()
        for _ in range(100):
            calls.acquire()
        print("done")
    """
    if killed:
        server.kill()
    for _ in range(3):
        assert run(script, server.url) == "done\n"


def test_an_exit_amid_an_outage_says_nothing_more_than_the_log_does(server: RedisServer) -> None:
    script = """
        import logging, os, sys, threading
        from tidegate import Bucket, Limiter
        logging.getLogger("tidegate").addHandler(logging.NullHandler())
        limiter = Limiter(sys.argv[1], timeout=0.05)
        limiter.limit(Bucket("door", size=1), "ada")
        os.kill(int(sys.argv[2]), 9)
        for _ in range(20):
            limiter.limit(Bucket("door", size=1), "ada")
    """
    assert server.process is not None
    assert run(script, server.url, str(server.process.pid)) == ""


@pytest.mark.skipif(not OPEN.is_dir(), reason="a system that does not show descriptors")
def test_limiters_come_and_go(server: RedisServer) -> None:
    def once() -> None:
        Limiter(server.url, **PATIENT).limit(SLOW, "ada")
        asyncio.run(AsyncLimiter(server.url, **PATIENT).limit(SLOW, "ada"))

    once()
    wait_for(lambda: server.command("CLIENT", "LIST").count("\n") == 1)
    before = descriptors()
    for _ in range(30):
        once()
    wait_for(lambda: descriptors() <= before)


@forks
def test_children_that_are_forked_off_while_threads_wait_for_a_turn(fleet: RedisServer) -> None:
    log = SlidingLog("log", max=100_000, period=timedelta(hours=1))
    limiter = Limiter(fleet.url, namespace=namespace(), timeout=TIMEOUT)
    over = threading.Event()

    def calls() -> None:
        while not over.is_set():
            limiter.acquire(log, "eve", max_wait=5)

    threads = [threading.Thread(target=calls) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(50):
            assert in_a_child(lambda: limiter.acquire(log, "eve", max_wait=5).allowed) == 0
    finally:
        over.set()
        for thread in threads:
            thread.join()


FIRST_CALLS = """
import asyncio, os, signal, sys, threading, time, types
from datetime import timedelta
import tidegate

url = sys.argv[1]
limiter, coroutines = tidegate.Limiter(url, timeout=60), tidegate.AsyncLimiter(url, timeout=60)
places = tidegate.Concurrency("places", max=1000, lease=60_000)

def calls():
    door = tidegate.Bucket("door", size=1000, drip_rate=timedelta(hours=1))
    wire = {"key": "door", "type": "bucket", "size": 1000, "dripRate": 3_600_000}
    if limiter.limit(types.MappingProxyType(wire), "ada").blocked or limiter.acquire(door, "ada").blocked:
        return False
    if asyncio.run(coroutines.limit(door, "ada")).blocked:
        return False
    with limiter.hold(places, "ada"):
        pass
    try:
        limiter.limit({**wire, "size": -1}, "ada")
    except tidegate.LimitError as error:
        return error.field == "size"

def busy():
    while not over:
        pass

# asyncio takes a lock of its own at the first run in a process.
asyncio.run(asyncio.sleep(0))
# Where a call lets go of the interpreter's lock, others have it for long, and one of them forks.
sys.setswitchinterval(0.0005)
over = []
threads = [threading.Thread(target=work) for work in (busy, busy, calls)]
for thread in threads:
    thread.start()
children = []
for _ in range(30):
    child = os.fork()
    if child == 0:
        code = 2
        try:
            # A child that waits for a thread of its parent is ended, with the signal as its status.
            signal.alarm(5)
            code = 0 if calls() else 1
        finally:
            os._exit(code)
    children.append(child)
    time.sleep(0)
over.append(True)
for thread in threads:
    thread.join()
print([os.waitpid(child, 0)[1] for child in children])
"""


@forks
def test_children_that_are_forked_off_while_a_thread_makes_its_first_calls(fleet: RedisServer) -> None:
    """Fork while others make what is made at its first use: a child must not wait for them."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FIRST_CALLS, fleet.url],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (run.stderr, run.stdout) == ("", f"{[0] * 30}\n")
