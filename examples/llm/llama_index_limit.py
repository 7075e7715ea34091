"""A call of LlamaIndex inside of a hold, which settles the tokens that it has used."""

from __future__ import annotations

from llama_index.core.llms import LLM

from tidegate import AsyncLimiter, Bucket, Concurrency, TokenBucket
from tidegate.llm import Estimator, usage_of

RPM = TokenBucket("rpm", count=500, period=60_000)
TPM = Bucket("tpm", size=200_000, drip_size=200_000, drip_rate=60_000)  # all of it back each minute
PARALLEL = Concurrency("parallel", max=20, lease=30_000)

estimator = Estimator()


async def complete(llm: LLM, limiter: AsyncLimiter, prompt: str, most: int = 4096) -> str:
    """The completion of a prompt. ``raw`` is the response of the model's own client."""
    estimate = len(prompt) // 4 + estimator.estimate("model", "complete", most)
    async with limiter.hold([RPM, TPM, PARALLEL], "model", costs=[1, estimate, 1], max_wait=30) as held:
        response = await llm.acomplete(prompt)
        usage = usage_of(response.raw)
        if usage is not None:
            estimator.record("model", "complete", usage.output)
            held.settle({"tpm": usage.total})
        return response.text
