"""A chat model of LangChain that waits for limits on requests and tokens, and settles the tokens that it has used."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.rate_limiters import BaseRateLimiter

from tidegate import AsyncLimiter, Bucket, Concurrency, Limiter, TokenBucket
from tidegate.llm import Estimator, usage_of

RPM = TokenBucket("rpm", count=500, period=60_000)
TPM = Bucket("tpm", size=200_000, drip_size=200_000, drip_rate=60_000)  # all of it back each minute
PARALLEL = Concurrency("parallel", max=20, lease=30_000)


class RequestLimiter(BaseRateLimiter):
    """For ``rate_limiter=`` of a chat model: LangChain's own hook, which sees requests and no tokens."""

    def __init__(self, url: str = "memory://", longest: float = 60) -> None:
        self._limiter = AsyncLimiter(url)
        self._sync = Limiter(url)
        self._longest = longest

    def acquire(self, *, blocking: bool = True) -> bool:
        """Waits for the turn of a request."""
        return not self._sync.acquire(RPM, "langchain", max_wait=self._longest if blocking else 0).blocked

    async def aacquire(self, *, blocking: bool = True) -> bool:
        """Waits for the turn of a request."""
        info = await self._limiter.acquire(RPM, "langchain", max_wait=self._longest if blocking else 0)
        return not info.blocked


class Asker:
    """Calls of a chat model inside of a hold, with the tokens that it really used."""

    def __init__(self, model: BaseChatModel, limiter: Limiter, most: int = 4096) -> None:
        self.model, self.limiter, self.most = model, limiter, most
        self.estimator = Estimator()

    def ask(self, prompt: str, purpose: str = "chat") -> Any:
        """The answer to a prompt."""
        estimate = len(prompt) // 4 + self.estimator.estimate("model", purpose, self.most)
        with self.limiter.hold([RPM, TPM, PARALLEL], "model", costs=[1, estimate, 1], max_wait=30) as held:
            message: AIMessage = self.model.invoke(prompt)
            usage = usage_of(message)
            if usage is not None:
                self.estimator.record("model", purpose, usage.output)
                held.settle({"tpm": usage.total})
            return message.text
