"""Limits on the tools of agents, and on those of a server of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tidegate import AsyncLimiter, BlockedError, Concurrency, Limiter, LimitError, TokenBucket
from tidegate.llm import limit_tool

ROOT = Path(__file__).parents[2]
BY_USER = TokenBucket("user", count=2, period=60_000)
BY_SESSION = TokenBucket("session", count=1, period=60_000)


def callers(user: str, session: str) -> list[tuple[TokenBucket, str]]:
    return [(BY_USER, user), (BY_SESSION, session)]


@pytest.mark.parametrize("limiter", [Limiter, AsyncLimiter])
def test_a_tool_is_limited_per_user_and_session_in_one_decision(limiter: type[Limiter | AsyncLimiter]) -> None:
    shared = limiter()

    @limit_tool(shared, callers)
    def search(user: str, session: str) -> str:
        """Searches."""
        return f"{user} in {session}"

    @limit_tool(shared, callers)
    async def search_async(user: str, session: str = "s3") -> str:
        return search.__wrapped__(user, session)  # type: ignore[attr-defined,no-any-return]

    assert list(inspect.signature(search).parameters) == ["user", "session"]
    assert search.__doc__ == "Searches."
    assert search("ada", session="s1") == "ada in s1"
    for user, session, key in [("ada", "s1", "session"), ("eve", "s1", "session")]:
        with pytest.raises(BlockedError) as caught:
            search(user, session)
        assert caught.value.info.key == key
    assert asyncio.run(search_async("ada", "s2")) == "ada in s2"
    with pytest.raises(BlockedError) as caught:
        asyncio.run(search_async("ada", "s4"))
    assert caught.value.info.key == "user"
    assert asyncio.run(search_async("eve", "s3")) == "eve in s3"


def test_an_object_that_is_called_may_be_async() -> None:
    class Tool:
        __name__ = "tool"

        async def __call__(self, user: str, session: str) -> str:
            return f"{user} in {session}"

    tool = limit_tool(Limiter(), callers)(Tool())
    assert asyncio.run(tool("ada", "s1")) == "ada in s1"
    with pytest.raises(BlockedError):
        asyncio.run(tool("ada", "s1"))


def test_a_denial_may_be_a_sentence() -> None:
    @limit_tool(Limiter(), callers, denied=lambda error: f"retry in {error.info.reset_sec} s")
    def search(user: str, session: str) -> str:
        return f"{user} in {session}"

    assert [search("ada", "s1"), search("ada", "s1")] == ["ada in s1", "retry in 60 s"]


def test_a_denial_of_a_coroutine_may_be_one_too() -> None:
    async def denied(error: BlockedError) -> str:
        return f"retry in {error.info.reset_sec} s"

    @limit_tool(Limiter(), callers, denied=denied)
    async def search(user: str, session: str) -> str:
        return f"{user} in {session}"

    assert [asyncio.run(search("ada", "s1")) for _ in range(2)] == ["ada in s1", "retry in 60 s"]


def test_units_are_held_while_a_tool_runs() -> None:
    limiter, slots = Limiter(), Concurrency("slots", max=1, lease=60_000)

    @limit_tool(limiter, lambda *_: [(slots, "ada")])
    def outer(fails: bool) -> None:
        with pytest.raises(BlockedError):
            asyncio.run(inner())
        if fails:
            raise KeyError("the tool failed")

    @limit_tool(limiter, lambda *_: [(slots, "ada")])
    async def inner() -> None:
        with pytest.raises(BlockedError):
            outer(False)

    outer(False)
    with pytest.raises(KeyError):
        outer(True)
    asyncio.run(inner())
    assert limiter.peek(slots, "ada").remaining == 1


def test_a_generator_is_refused() -> None:
    async def events(user: str, session: str) -> Any:
        yield user, session

    def lines(user: str, session: str) -> Any:
        yield user, session

    for tool in (events, lines):
        with pytest.raises(LimitError, match="tool must return a value"):
            limit_tool(Limiter(), callers)(tool)


def test_a_tool_of_an_mcp_server_tells_its_agent_when_to_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("mcp_server", ROOT / "examples/llm/mcp_server.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    # Where types of pydantic look for themselves.
    monkeypatch.setitem(sys.modules, spec.name, example)
    spec.loader.exec_module(example)

    async def main() -> None:
        async with Client(example.server) as client:

            async def call() -> Any:
                return await client.call_tool("search", {"query": "tides"})

            tools = (await client.list_tools()).tools
            assert [list(tool.input_schema["properties"]) for tool in tools] == [["query"]]
            assert (await call()).content[0].text == "nothing about tides"
            denied = await call()
            assert denied.is_error
            assert "search-session" in denied.content[0].text
            assert "60 s" in denied.content[0].text
            example.clock.advance(60)
            assert not (await call()).is_error

    asyncio.run(main())
