"""The tokens that the clients of OpenAI and Anthropic say were used, against a server that speaks their protocols."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI

from models import Models
from tidegate import LimitError
from tidegate.llm import Estimator, Usage, UsageStream, usage_of

PROMPT = "why is the sea salty"
CHAT: list[Any] = [{"role": "user", "content": PROMPT}]
# OpenAI counts what it found in its cache; Anthropic counts what it wrote there.
OF_OPENAI = Usage(input=5, output=5, cached=2, total=10)
OF_ANTHROPIC = Usage(input=10, output=5, cached=2, total=15)
USAGE: Any = {"include_usage": True}


@pytest.fixture(scope="module", autouse=True)
def _models() -> Iterator[None]:
    with Models() as models, pytest.MonkeyPatch.context() as patch:
        for name, value in models.environment.items():
            patch.setenv(name, value)
        yield


def test_responses() -> None:
    with OpenAI() as client:
        assert usage_of(client.chat.completions.create(model="gpt-5", messages=CHAT)) == OF_OPENAI
        response = client.responses.create(model="gpt-5", input=PROMPT)
        assert usage_of(response) == OF_OPENAI
        assert usage_of(response.model_dump()) == OF_OPENAI
    with Anthropic() as claude:
        message = claude.messages.create(model="claude", max_tokens=100, messages=CHAT)
        assert usage_of(message) == usage_of(message.model_dump()) == OF_ANTHROPIC


def test_streams() -> None:
    with OpenAI() as client, Anthropic() as claude:
        streams: list[tuple[Any, Usage | None]] = [
            (client.chat.completions.create(model="g", messages=CHAT, stream=True, stream_options=USAGE), OF_OPENAI),
            (client.chat.completions.create(model="g", messages=CHAT, stream=True), None),
            (client.responses.create(model="g", input=PROMPT, stream=True), OF_OPENAI),
            (claude.messages.create(model="c", max_tokens=100, messages=CHAT, stream=True), OF_ANTHROPIC),
        ]
        for stream, usage in streams:
            counted = UsageStream(stream)
            assert counted.usage is None
            assert len(list(counted)) > 5
            assert counted.usage == usage


def test_streams_of_helpers() -> None:
    with OpenAI() as client, client.responses.stream(model="gpt-5", input=PROMPT) as events:
        counted = UsageStream(events)
        assert "response.completed" in [event.type for event in counted]
        assert counted.usage == OF_OPENAI
    with Anthropic() as claude, claude.messages.stream(model="c", max_tokens=100, messages=CHAT) as stream:
        of_message = UsageStream(stream)
        assert "text" in [event.type for event in of_message]
        assert of_message.usage == usage_of(stream.get_final_message()) == OF_ANTHROPIC


def test_async_streams() -> None:
    async def main() -> None:
        async with AsyncOpenAI() as client, AsyncAnthropic() as claude:
            assert usage_of(await client.responses.create(model="gpt-5", input=PROMPT)) == OF_OPENAI
            chat = await client.chat.completions.create(model="gpt-5", messages=CHAT, stream=True, stream_options=USAGE)
            message = await claude.messages.create(model="c", max_tokens=100, messages=CHAT, stream=True)
            streams: list[tuple[Any, Usage]] = [(chat, OF_OPENAI), (message, OF_ANTHROPIC)]
            for stream, usage in streams:
                counted = UsageStream(stream)
                assert len([event async for event in counted]) > 5
                assert counted.usage == usage

    asyncio.run(main())


def test_a_stream_that_ends_early() -> None:
    with Anthropic() as claude:
        stream = claude.messages.create(model="c", max_tokens=100, messages=CHAT, stream=True)
        counted = UsageStream(stream)
        next(iter(counted))
        stream.close()
    # Its input is known from the first event; of its output, what that event says.
    assert counted.usage == Usage(input=10, output=1, cached=2, total=11)


def test_what_says_no_usage() -> None:
    silent: list[Any] = [
        None,
        5,
        "usage",
        [],
        {},
        {"usage": None},
        {"usage": {"input_tokens": None}},
        SimpleNamespace(),
    ]
    for response in silent:
        assert usage_of(response) is None
    odd = {"usage": {"input_tokens": True, "output_tokens": -1, "prompt_tokens": "12", "completion_tokens": 1.5}}
    assert usage_of(odd) is None
    assert usage_of({"usage": {"input_tokens": 7, "input_tokens_details": 3}}) == Usage(7, 0, 0, 7)


def test_estimates() -> None:
    estimator = Estimator(percentile=50, window=4, least=2, pairs=2)
    estimator.record("gpt-5", "chat", 100)
    assert estimator.estimate("gpt-5", "chat", 500) == 500
    for output in (1, 2, 3, 4):
        estimator.record("gpt-5", "chat", output)
    assert estimator.estimate(model="gpt-5", purpose="chat", most=500) == 2
    assert estimator.estimate("gpt-5", "chat", 1) == 1
    # The pair that was recorded longest ago makes room, however many a client invents.
    for number in range(50):
        estimator.record(f"model {number}", "x" * 1_000_000, 1)
        estimator.estimate("\0", str(number), 1)
    assert len(estimator) == 2
    assert estimator.estimate("gpt-5", "chat", 500) == 500


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.record("m", "p", -1), "output must be at least 0, got -1"),
        (lambda e: e.record("m", "p", 1.5), "output must be a whole number, got 1.5"),
        (lambda e: e.record("m", "p", "1"), 'output must be a number, got "1"'),
        (lambda e: e.record("m", None, 1), "purpose must be a string, got None"),
        (
            lambda e: e.record("\ud800", "p", 1),
            "model must be well-formed, without lone surrogates, got a string with a lone surrogate",
        ),
        (lambda e: e.estimate("m", "p", float("nan")), "most must be at least 0, got nan"),
        (lambda e: e.estimate("m", "p", 2**54), "most must be at most 9007199254740992, got 18014398509481984"),
        (lambda _: Estimator(percentile=0), "percentile must be above 0 and at most 100, got 0"),
        (lambda e: type(e)(window=float("2.5")), "window must be a whole number, got 2.5"),
        (lambda _: Estimator(window=2), "least must be at most the window, 2, got 20"),
        (lambda _: Estimator(pairs=10**12), "window times pairs, 1000000000000, must be at most 10000000, got 256"),
    ],
)
def test_bad_arguments(call: Any, message: str) -> None:
    estimator = Estimator()
    with pytest.raises(LimitError) as caught:
        call(estimator)
    assert str(caught.value).startswith(message)
    assert len(estimator) == 0
