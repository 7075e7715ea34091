"""An endpoint that streams a language model's answer and limits tokens: ``uvicorn app:app``.

A request reserves what it may use at most, before the model is asked, and is settled with what it has used: after its
last byte, after an error, after a timeout, and when the client goes away in the middle.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from tidegate import AsyncLimiter
from tidegate.fastapi import RateLimit, RateLimitMiddleware, settle

SECONDS = float(os.environ.get("MODEL_SECONDS", "30"))
"""The time that an answer may take."""


MOST = 4000
"""Tokens that an answer may have, whatever a client asks for."""


class Prompt(BaseModel):
    """A request to the model."""

    text: str
    most: Annotated[int, Field(ge=1, le=100_000)] = 500
    """Tokens that the answer may have: never so many, or so few, that the estimate is not one."""

    @property
    def reserved(self) -> int:
        """The same within bounds, as a client may ask for anything."""
        return min(max(self.most, 0), MOST)


async def estimate(request: Request) -> int:
    """The tokens of the prompt, and those that the answer may have: what is reserved.

    A body that is no prompt has the status 400, and one that asks for more than the limit ever admits 413.
    """
    prompt = Prompt.model_validate(await request.json())
    return count(prompt.text) + prompt.reserved


def count(text: str) -> int:
    """The tokens of a text, as this model counts them."""
    return len(text.split())


async def model(prompt: Prompt) -> AsyncIterator[str]:
    """Stands for the model: it repeats the prompt, a word at a time; some words make it fail or hang."""
    for number, word in enumerate(prompt.text.split() * 100):
        if number >= prompt.reserved:
            return
        if word == "fail":
            raise RuntimeError("the model failed")
        await asyncio.sleep(3600 if word == "hang" else 0.001)
        yield f"{word} "


limiter = AsyncLimiter(os.environ.get("STORE", "memory://"), timeout=float(os.environ.get("STORE_TIMEOUT", "0.1")))
app = FastAPI()
app.add_middleware(RateLimitMiddleware, limiter=limiter, headers="both")
TOKENS = RateLimit(os.environ.get("TOKENS", "100000/hour"), name="tokens", key="header:x-api-key", cost=estimate)
REQUESTS = RateLimit("1000/hour", name="completions", key="header:x-api-key")


@app.post("/complete", dependencies=[Depends(REQUESTS), Depends(TOKENS)])
async def complete(prompt: Prompt, request: Request) -> StreamingResponse:
    """Streams the answer. Both limits are decided in one call, and only the tokens are settled."""

    async def answer() -> AsyncIterator[str]:
        used = count(prompt.text)
        settle(request, used)
        words = model(prompt)
        while True:
            word = await asyncio.wait_for(anext(words, None), SECONDS)
            if word is None:
                return
            used += 1
            settle(request, used)
            yield word

    return StreamingResponse(answer(), media_type="text/plain")
