"""The examples of examples/, served and asked over real HTTP."""

from __future__ import annotations

import http.client
import json
import sys
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest

from serving import ROOT, Served
from tidegate import parse_headers

EXAMPLES = ROOT / "examples"


def test_litestar(store: str) -> None:
    with Served.uvicorn("app:app", EXAMPLES / "litestar", STORE=store) as server:
        answers = [server.ask() for _ in range(6)]
        assert [answer.status for answer in answers] == [200] * 5 + [429]
        assert [parse_headers(answer.headers).remaining for answer in answers] == [4, 3, 2, 1, 0, 0]
        assert server.ask("/health").status == 200


def test_aiohttp(store: str) -> None:
    with Served(sys.executable, "app.py", "{port}", folder=EXAMPLES / "aiohttp", STORE=store) as server:
        answers = [server.ask() for _ in range(6)]
        assert [answer.status for answer in answers] == [200] * 5 + [429]
        assert [answer.headers["x-ratelimit-remaining"] for answer in answers] == ["4", "3", "2", "1", "0", "0"]
        assert int(answers[-1].headers["retry-after"]) <= 12


class TestLlm:
    """The tokens that each end of a stream leaves charged."""

    @pytest.fixture(scope="class")
    @staticmethod
    def server(store: str) -> Iterator[Served]:
        with Served.uvicorn(
            "app:app", EXAMPLES / "llm", STORE=store, MODEL_SECONDS="0.6", TOKENS="100000/30d"
        ) as server:
            yield server

    @staticmethod
    def complete(server: Served, key: str, text: str, most: int = 500) -> bytes:
        body = json.dumps({"text": text, "most": most}).encode()
        return server.ask("/complete", "POST", body, x_api_key=key, content_type="application/json").body

    def used(self, server: Served, key: str) -> int:
        """The tokens that are charged, but for the two of this request."""
        body = json.dumps({"text": "a", "most": 1}).encode()
        answer = server.ask("/complete", "POST", body, x_api_key=key, content_type="application/json")
        by_name = {policy.name: policy.remaining for policy in parse_headers(answer.headers).policies}
        assert by_name["tokens"] is not None
        return 100_000 - 2 - by_name["tokens"]

    def test_success(self, server: Served) -> None:
        key = uuid4().hex
        assert self.complete(server, key, "one two", most=7) == b"one two " * 3 + b"one "
        assert self.used(server, key) == 2 + 7

    def test_error(self, server: Served) -> None:
        key = uuid4().hex
        with pytest.raises(http.client.IncompleteRead):
            self.complete(server, key, "one two fail")
        assert self.used(server, key) == 3 + 2

    def test_timeout(self, server: Served) -> None:
        key = uuid4().hex
        with pytest.raises(http.client.IncompleteRead):
            self.complete(server, key, "one hang")
        assert self.used(server, key) == 2 + 1

    def test_disconnect(self, server: Served) -> None:
        key = uuid4().hex
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        body = json.dumps({"text": "one two three", "most": 90_000})
        connection.request("POST", "/complete", body, {"X-Api-Key": key, "Content-Type": "application/json"})
        read = connection.getresponse().read(8)
        assert read == b"one two "
        connection.close()
        # The server notices at one of its next words; the reservation of 90,003 is settled then.
        until = time.monotonic() + 10
        while self.used(server, key) > 50_000 and time.monotonic() < until:
            time.sleep(0.05)
        assert 3 + 2 <= self.used(server, key) < 20_000
