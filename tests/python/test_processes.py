"""Processes and interpreters: calls that work across them, and errors that say that they do not."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import warnings

import pytest

from tidegate import Bucket, Limiter, LimitError, LimitInfo, StoreError

DOOR = Bucket("door", size=2, drip_rate=3_600_000)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_forked_child_goes_on_with_entries_of_its_own() -> None:
    limiter = Limiter()
    limiter.limit(DOOR, "ada")
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            limiter.limit(DOOR, "eve")

    # Threads at work while it forks must not leave a lock behind.
    threads = [threading.Thread(target=busy) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                try:
                    verdicts = [limiter.limit(DOOR, "ada").blocked for _ in range(2)]
                    fresh = Limiter().limit({"key": "k", "type": "bucket", "size": 1}, "ada").blocked
                    os._exit(0 if (verdicts, fresh) == ([False, True], False) else 1)
                finally:
                    os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert limiter.limit(DOOR, "ada").blocked is False, "what a child charges is its own"


def in_a_child(limit: Bucket, actor: str) -> LimitInfo:
    return Limiter().limit(limit, actor)


def test_definitions_and_answers_travel_to_spawned_processes() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        info = pool.apply(in_a_child, (DOOR, "ada"))
    assert (info.key, info.remaining, info.checks) == ("door", 1, (info,))


def test_errors_are_pickled_with_what_they_name() -> None:
    with pytest.raises(LimitError) as caught:
        Bucket("door", size=0)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (LimitError, str(caught.value))
    assert (again.key, again.field, again.value) == ("door", "size", "0")
    assert isinstance(again, ValueError)
    assert issubclass(StoreError, ConnectionError)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sub-interpreters share one lock there")
def test_a_second_interpreter_is_told_so() -> None:
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    script = f"""
        import tidegate
        import {name} as interpreters
        code = "try:\\n import tidegate\\nexcept ImportError as error:\\n print('refused:', error)"
        interpreters.run_string(interpreters.create(), code)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert "refused: " in run.stdout
    assert "subinterpreters" in run.stdout


def test_a_store_connects_only_when_somebody_will_hear_what_its_server_says() -> None:
    script = """
        import socket, threading
        import tidegate
        from tidegate import _log

        listening = socket.create_server(("127.0.0.1", 0))
        connected = threading.Event()
        threading.Thread(target=lambda: (listening.accept(), connected.set()), daemon=True).start()
        start, early = _log.start, []

        def start_late(descriptor):
            early.append(connected.wait(0.3))
            start(descriptor)

        _log.start = start_late
        limiter = tidegate.Limiter(f"redis://127.0.0.1:{listening.getsockname()[1]}")
        print(early, connected.wait(30))
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert run.stdout == "[False] True\n"


def test_importing_it_is_cheap() -> None:
    script = "import sys, tidegate; print({'asyncio', 'json', 'logging', 'ssl'} & sys.modules.keys())"
    run = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


INTERPRETERS = """
try:
    import _interpreters as interpreters
    make = lambda: interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    make = lambda: interpreters.create(isolated=False)
import sys
TRY = '''
try:
    import tidegate
except ImportError as error:
    print(error)
else:
    print(tidegate.Limiter().limit(tidegate.Bucket("door", size=1), "ada").allowed)
'''
def try_in_another():
    sys.stdout.flush()
    failed = interpreters.run_string(make(), TRY + "import sys; sys.stdout.flush()")
    assert not failed, failed
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("exec(TRY); try_in_another(); exec(TRY)", ["True", "refused", "True"]),
        ("try_in_another(); try_in_another(); exec(TRY)", ["True", "refused", "refused"]),
    ],
)
def test_a_second_interpreter_is_refused(code: str, expected: list[str]) -> None:
    command = [sys.executable, "-c", INTERPRETERS + code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    words = "tidegate is loaded in another interpreter of this process, and works in one only: run each application in"
    said = ["refused" if line.startswith(words) else line for line in done.stdout.splitlines()]
    assert said == expected


WAITS = {
    "a turn": "limiter.acquire(TokenBucket('turn', count=1000, period=1000, burst=1), 'ada', max_wait=5)",
    "room": "limiter.acquire(SlidingLog('room', max=1, period=1), 'ada', max_wait=5)",
    "a place": "limiter.hold(Concurrency('place', max=1, lease=60_000), 'ada', max_wait=5).__enter__().release()",
}


@pytest.mark.parametrize("wait", WAITS)
def test_a_program_ends_while_threads_of_it_wait(wait: str) -> None:
    """Python ends a daemon thread where it asks for the interpreter's lock, by unwinding it."""
    script = f"""
        import threading, time
        from tidegate import Concurrency, Limiter, SlidingLog, TokenBucket
        limiter = Limiter()
        def work():
            while True:
                {WAITS[wait]}
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
    """
    for _ in range(4):
        run = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, timeout=60, check=False
        )
        assert (run.returncode, run.stderr) == (0, b"")
