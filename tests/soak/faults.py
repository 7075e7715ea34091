"""The servers of the soak, the ways to them, and all that can go wrong with both."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from server import RedisServer

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

LASTS = 3.0


def until(what: str, done: Callable[[], bool]) -> None:
    """Waits for half a minute at the most."""
    end = time.monotonic() + 30
    while True:
        # A server that changes its role ends its connections.
        with contextlib.suppress(OSError):
            if done():
                return
        assert time.monotonic() < end, f"not within 30 s: {what}"
        time.sleep(0.005)


class Way:
    """A relay to the server that is the primary, which can add latency and end connections."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.delay = 0.0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.ends: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Reset every connection."""
        for end in list(self.ends):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            client = self.listener.accept()[0]
            try:
                server = socket.create_connection(("127.0.0.1", self.fleet.primary.port), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            self.ends |= {client, server}
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while received := source.recv(65_536):
                if answers and self.delay > 0:
                    time.sleep(self.delay)
                target.sendall(received)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.ends.discard(source)
        if answers:
            # The last of the two closes both.
            source.close()
            target.close()


class Fleet:
    """A primary and its replica, a sentinel that knows both, and a relay to whichever is the primary."""

    def __init__(self) -> None:
        self.servers = [RedisServer(), RedisServer()]
        self.sentinel: RedisServer | None = None
        self.kills = self.failovers = 0
        # How long two servers took themselves for the primary, in seconds: both admit then.
        self.split = 0.0

    def __enter__(self) -> Self:
        for server in self.servers:
            server.start()
        self.primary = self.servers[0]
        self._follow()
        config = Path(self.servers[0].folder.name) / "sentinel.conf"
        # Only when it is asked to: faults of a few seconds are not what makes it fail over.
        lines = [
            f"sentinel monitor soak 127.0.0.1 {self.primary.port} 1",
            "sentinel down-after-milliseconds soak 60000",
            "sentinel failover-timeout soak 5000",
        ]
        config.write_text("\n".join(lines) + "\n")
        self.sentinel = Sentinel(str(config))
        self.sentinel.start()
        self.way = Way(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in [*self.servers, *([self.sentinel] if self.sentinel else [])]:
            server.__exit__(kind, error, trace)

    @property
    def urls(self) -> list[str]:
        """Both ways to the primary."""
        assert self.sentinel is not None
        return [f"redis://127.0.0.1:{self.way.port}", f"redis+sentinel://127.0.0.1:{self.sentinel.port}/soak"]

    @property
    def replica(self) -> RedisServer:
        return next(server for server in self.servers if server is not self.primary)

    def faults(self) -> list[tuple[str, Callable[[], None]]]:
        return [
            ("no fault", lambda: time.sleep(LASTS)),
            ("SIGSTOP", self.stop),
            ("SIGKILL, restart without memory", self.kill),
            ("failover", self.fail_over),
            ("CONFIG SET maxmemory 1", self.fill),
            ("SCRIPT FLUSH every 90 ms", self.flush),
            ("300 ms of latency", self.delay),
            ("connections reset, 5 times", self.cut),
        ]

    def stop(self) -> None:
        self.primary.pause()
        time.sleep(LASTS)
        self.primary.resume()

    def kill(self) -> None:
        self.kills += 1
        self.primary.kill()
        time.sleep(LASTS)
        self.primary.start()

    def fail_over(self) -> None:
        assert self.sentinel is not None
        self.failovers += 1
        heir, former = self.replica, self.primary
        until("the replica is in step", lambda: "master_link_status:up" in str(heir.command("INFO")))
        until("the sentinel knows it", self._sentinel_knows_a_replica)
        began = time.monotonic()
        self.sentinel.command("SENTINEL", "FAILOVER", "soak")
        until("it is the primary", lambda: heir.command("ROLE")[0] == "master")
        promoted = time.monotonic()
        self.primary = heir
        self.way.cut()
        until("the former one is its replica", lambda: former.command("ROLE")[0] == "slave")
        self.split += time.monotonic() - promoted
        time.sleep(max(0.0, LASTS - (time.monotonic() - began)))

    def fill(self) -> None:
        self.primary.command("CONFIG", "SET", "maxmemory", "1")
        time.sleep(LASTS)
        self.primary.command("CONFIG", "SET", "maxmemory", "0")

    def flush(self) -> None:
        until = time.monotonic() + LASTS
        while time.monotonic() < until:
            self.primary.command("SCRIPT", "FLUSH")
            time.sleep(0.09)

    def delay(self) -> None:
        self.way.delay = 0.3
        time.sleep(LASTS)
        self.way.delay = 0.0

    def cut(self) -> None:
        for _ in range(5):
            self.way.cut()
            self.primary.command("CLIENT", "KILL", "TYPE", "normal")
            time.sleep(LASTS / 5)

    def _follow(self) -> None:
        self.replica.command("REPLICAOF", "127.0.0.1", str(self.primary.port))

    def _sentinel_knows_a_replica(self) -> bool:
        assert self.sentinel is not None
        said = self.sentinel.command("SENTINEL", "REPLICAS", "soak")
        return any(replica[replica.index("flags") + 1] == "slave" for replica in said)


class Sentinel(RedisServer):
    """A sentinel with this file of its own."""

    def __init__(self, config: str) -> None:
        super().__init__("--sentinel")
        self.config = config

    def start(self) -> None:
        command = ["redis-server", self.config, "--sentinel", "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--logfile", str(Path(self.folder.name) / "log")]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        until = time.monotonic() + 10
        while True:
            with contextlib.suppress(OSError):
                if self.command("PING") == "PONG":
                    return
            assert time.monotonic() < until, "the sentinel does not start"
            time.sleep(0.02)
