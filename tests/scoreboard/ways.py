"""The faults of the scoreboard: each gives processes a way to a store, and then does something to it."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from faults import Sentinel, until
from proxy import SlowProxy
from relay import Relay
from server import RedisServer
from wire import Wire

DOWN_AFTER_MS, NODE_TIMEOUT_MS = 500, 2000
ROUND_TRIP, LATENCY = 0.02, 0.3
LOSSY = 5.0


class Way(NamedTuple):
    """The URL of a store, what a process needs before its command to reach it, and the fault."""

    url: str
    fault: Callable[[], None]
    within: list[str]


def of_a_server(fault: Callable[[RedisServer], None], *options: str) -> Callable[[], AbstractContextManager[Way]]:
    """One server, and what is done to it."""

    @contextmanager
    def made() -> Iterator[Way]:
        with RedisServer(*options) as server:
            yield Way(server.url, lambda: fault(server), [])

    return made


def killed(server: RedisServer) -> None:
    server.kill()
    time.sleep(3)
    server.start()


def stopped(server: RedisServer) -> None:
    server.pause()
    time.sleep(3)
    server.resume()


def paused(server: RedisServer) -> None:
    server.command("CLIENT", "PAUSE", "3000", "ALL")
    time.sleep(3)


def switched(*on_and_off: str) -> Callable[[RedisServer], None]:
    """One command, and after a second another."""
    on, off = ([*command.split()] for command in on_and_off)

    def fault(server: RedisServer) -> None:
        server.command(*on)
        time.sleep(1)
        server.command(*off)

    return fault


def loading(server: RedisServer) -> None:
    server.command("DEBUG", "POPULATE", "2000")
    server.command("DEBUG", "RELOAD")


def busy(server: RedisServer) -> None:
    server.command("CONFIG", "SET", "busy-reply-threshold", "10")

    def endless() -> None:
        with contextlib.suppress(RuntimeError):
            server.command("EVAL", "while true do end", "0")

    script = threading.Thread(target=endless)
    script.start()
    time.sleep(1)
    server.command("SCRIPT", "KILL")
    script.join()


def flushed(*command: str) -> Callable[[RedisServer], None]:
    def fault(server: RedisServer) -> None:
        end = time.monotonic() + 3
        while time.monotonic() < end:
            server.command(*command)
            time.sleep(0.09)

    return fault


@contextmanager
def slow_and_flushed() -> Iterator[Way]:
    with RedisServer() as server, SlowProxy(server.port, ROUND_TRIP) as proxy:
        yield Way(proxy.url, lambda: flushed("SCRIPT", "FLUSH")(server), [])


@contextmanager
def latency() -> Iterator[Way]:
    with RedisServer() as server, SlowProxy(server.port, 0) as proxy:

        def fault() -> None:
            proxy.delay = LATENCY
            time.sleep(3)
            proxy.delay = 0

        yield Way(proxy.url, fault, [])


@contextmanager
def held() -> Iterator[Way]:
    with RedisServer() as server, Relay(server.port) as relay:

        def fault() -> None:
            relay.hold()
            time.sleep(2)

        yield Way(relay.url, fault, [])


@contextmanager
def deaf() -> Iterator[Way]:
    with RedisServer() as server, Relay(server.port) as relay:

        def fault() -> None:
            relay.deaf = True
            time.sleep(3)
            relay.deaf = False

        yield Way(relay.url, fault, [])


@contextmanager
def cut() -> Iterator[Way]:
    with RedisServer() as server, Relay(server.port) as relay:

        def fault() -> None:
            for _ in range(5):
                relay.cut()
                time.sleep(0.6)

        yield Way(relay.url, fault, [])


def lossy(loss: float, lasts: float) -> Callable[[], AbstractContextManager[Way]]:
    """A wire between two network namespaces, which takes root."""

    @contextmanager
    def made() -> Iterator[Way]:
        with Wire() as wire, RedisServer() as unused:
            options = ["--bind", wire.address, "--protected-mode", "no", "--save", "", "--dir", unused.folder.name]
            server = subprocess.Popen([*wire.there, "redis-server", *options], stdout=subprocess.DEVNULL)

            def fault() -> None:
                wire.loss = loss
                time.sleep(lasts)
                wire.loss = 0.0

            try:
                ask = [*wire.here, "redis-cli", "-h", wire.address, "ping"]
                until("the server answers", lambda: b"PONG" in subprocess.run(ask, capture_output=True).stdout)
                yield Way(f"redis://{wire.address}", fault, wire.here)
            finally:
                server.kill()
                server.wait()

    return made


@contextmanager
def sentinels() -> Iterator[Way]:
    with ExitStack() as stack:
        primary, replica = (stack.enter_context(RedisServer()) for _ in range(2))
        replica.command("REPLICAOF", "127.0.0.1", str(primary.port))
        until("the replica is in step", lambda: "master_link_status:up" in replica.command("INFO"))
        watching = []
        for number in range(3):
            config = Path(primary.folder.name) / f"sentinel{number}.conf"
            config.write_text(
                f"sentinel monitor shop 127.0.0.1 {primary.port} 2\n"
                f"sentinel down-after-milliseconds shop {DOWN_AFTER_MS}\nsentinel failover-timeout shop 2000\n"
            )
            watching.append(stack.enter_context(Sentinel(str(config))))

        def named() -> list[str]:
            said: list[str] = watching[0].command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "shop")
            return said

        def knows_all() -> bool:
            words = watching[0].command("SENTINEL", "MASTER", "shop")
            return [words[words.index(of) + 1] for of in ("num-other-sentinels", "num-slaves")] == ["2", "1"]

        until("the sentinels know each other and the replica", knows_all)

        def fault() -> None:
            first = named()
            primary.kill()
            until("the next primary is named", lambda: named() != first)

        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in watching)
        yield Way(f"redis+sentinel://{hosts}/shop", fault, [])


def is_primary(node: RedisServer) -> bool:
    return bool(node.command("ROLE")[0] == "master")


@contextmanager
def cluster_of(replicas: int) -> Iterator[list[RedisServer]]:
    """Three primaries, each with so many replicas."""
    with ExitStack() as stack:
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT_MS))
        nodes = [stack.enter_context(RedisServer(*options)) for _ in range(3 + 3 * replicas)]
        addresses = [f"127.0.0.1:{node.port}" for node in nodes]
        make = ["redis-cli", "--cluster", "create", *addresses, "--cluster-replicas", str(replicas), "--cluster-yes"]
        subprocess.run(make, capture_output=True, timeout=60, check=True)
        until("it is up", lambda: all("cluster_state:ok" in node.command("CLUSTER", "INFO") for node in nodes))

        def in_step() -> int:
            return sum(node.command("ROLE")[3:4] == ["connected"] for node in nodes)

        until("each has its replicas", lambda: in_step() == 3 * replicas)
        yield nodes


def cluster(way_to_go: Callable[[RedisServer], None]) -> Callable[[], AbstractContextManager[Way]]:
    """A cluster whose fault is over once the primary that decided is replaced."""

    @contextmanager
    def made() -> Iterator[Way]:
        with cluster_of(1) as nodes:

            def fault() -> None:
                victim = next(node for node in nodes if is_primary(node) and node.command("DBSIZE") > 0)
                way_to_go(victim)
                rest = [node for node in nodes if node is not victim]
                until("another is promoted", lambda: sum(map(is_primary, rest)) == 3)

            yield Way(f"redis+cluster://{','.join(f'127.0.0.1:{node.port}' for node in nodes)}", fault, [])

    return made


@contextmanager
def slot_in_motion() -> Iterator[Way]:
    """A slow cluster, of which a slot moves: first with its entries, then without, and at last for good."""
    with cluster_of(0) as nodes, ExitStack() as stack:
        proxies = [stack.enter_context(SlowProxy(node.port, ROUND_TRIP)) for node in nodes]
        for node, proxy in zip(nodes, proxies):
            node.command("CONFIG", "SET", "cluster-announce-port", proxy.url.rpartition(":")[2])

        def known() -> bool:
            ports = {proxy.url.rpartition(":")[2] for proxy in proxies}
            told = [{str(served[2][1]) for served in node.command("CLUSTER", "SLOTS")} for node in nodes]
            return all(each == ports for each in told)

        until("all know the slow way to each other", known)

        def fault() -> None:
            source = next(node for node in nodes if node.command("DBSIZE") > 0)
            target = next(node for node in nodes if node is not source)
            slot = str(source.command("CLUSTER", "KEYSLOT", "everybody"))
            there, here = (node.command("CLUSTER", "MYID") for node in (target, source))
            target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", here)
            source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", there)
            time.sleep(1)
            for key in source.command("CLUSTER", "GETKEYSINSLOT", slot, "10"):
                source.command("MIGRATE", "127.0.0.1", str(target.port), key, "0", "1000")
            time.sleep(1)
            for node in (target, source):
                node.command("CLUSTER", "SETSLOT", slot, "NODE", there)
            time.sleep(1)

        yield Way(f"redis+cluster://{','.join(proxy.url.removeprefix('redis://') for proxy in proxies)}", fault, [])
