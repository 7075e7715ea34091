"""A node that leaves the cluster's map while it owes answers: no future and no promise waits for them for ever."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from server import RedisServer

HERE = Path(__file__).parent
DEADLINE = 0.6
# What a busy machine may add; what was forgotten is never answered.
SLACK = 1.0


class LeavingNode:
    """Greets like a server that is well, and has every slot until its second script call.

    It names an heir then, and answers nothing more. Of each connection the first script call belongs to the handshake.
    """

    def __init__(self, heir: int) -> None:
        self.heir = heir
        self.left = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[client], daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        calls = 0
        with client, client.makefile("rb") as commands:
            while words := command(commands):
                calls += words[0] in {b"EVALSHA", b"EVAL"}
                answer = self.answer(words[0], calls)
                if answer:
                    client.sendall(answer)

    def answer(self, name: bytes, calls: int) -> bytes | None:
        if name == b"TIME":
            return b"*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n"
        if name == b"CLUSTER":
            port = self.heir if self.left.is_set() else self.port
            return f"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n".encode()
        if name not in {b"EVALSHA", b"EVAL"}:
            return b"+OK\r\n"
        if calls == 1:
            return b"-ERR not now\r\n"
        if calls == 2:
            return None
        self.left.set()
        return f"-MOVED 1 127.0.0.1:{self.heir}\r\n".encode()


def command(commands: BinaryIO) -> list[bytes]:
    words = []
    for _ in range(int(commands.readline()[1:] or b"0")):
        length = int(commands.readline()[1:])
        words.append(commands.read(length + 2)[:length])
    return words


@pytest.fixture
def node() -> Iterator[LeavingNode]:
    with RedisServer() as heir:
        node = LeavingNode(heir.port)
        yield node
        node.listener.close()


@pytest.mark.parametrize("command", [[sys.executable, str(HERE / "leaving.py")], ["node", str(HERE / "leaving.mjs")]])
def test_calls_under_way_to_a_node_that_leaves_are_answered(node: LeavingNode, command: list[str]) -> None:
    url = f"redis+cluster://127.0.0.1:{node.port}"
    ran = subprocess.run([*command, url], capture_output=True, text=True, timeout=30, check=False)
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert report["pending"] == 0, report
    assert all(took < DEADLINE + SLACK for _, took in report["answered"]), report
    # The heir decided the one that was sent on, and the policy answered the other.
    assert sorted(degraded for degraded, _ in report["answered"]) == [False, True], report
