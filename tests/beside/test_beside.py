"""The examples for libraries that have an environment of their own."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests/redis"), str(ROOT / "tests/llm")]

from models import Models  # noqa: E402
from server import RedisServer  # noqa: E402
from tidegate import AsyncLimiter, Limiter  # noqa: E402

PROMPT = "why is the sea salty"


@pytest.fixture(scope="module", autouse=True)
def _models() -> Any:
    with Models() as models, pytest.MonkeyPatch.context() as patch:
        for name, value in models.environment.items():
            patch.setenv(name, value)
        # LiteLLM's own list of models, in place of one that it would load.
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        yield


def example(name: str) -> Any:
    file = ROOT / "examples" / name
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def test_langchain() -> None:
    from langchain_openai import ChatOpenAI

    langchain = example("llm/langchain_limit.py")
    limiter = Limiter()
    asker = langchain.Asker(ChatOpenAI(model="gpt-5", rate_limiter=langchain.RequestLimiter()), limiter)
    assert asker.ask(PROMPT) == PROMPT
    assert limiter.peek(langchain.TPM, "model").remaining == 200_000 - 10
    assert limiter.peek(langchain.PARALLEL, "model").remaining == 20
    assert len(asker.estimator) == 1
    requests = langchain.RequestLimiter(longest=0)
    for _ in range(500):
        assert requests.acquire()
    assert not requests.acquire(blocking=False)
    assert asyncio.run(requests.aacquire(blocking=False))


def test_llama_index() -> None:
    from llama_index.llms.openai import OpenAI

    llama_index = example("llm/llama_index_limit.py")
    limiter = AsyncLimiter()
    model = OpenAI(model="gpt-4o", api_base=os.environ["OPENAI_BASE_URL"])

    async def main() -> None:
        assert await llama_index.complete(model, limiter, PROMPT) == PROMPT
        assert (await limiter.peek(llama_index.TPM, "model")).remaining == 200_000 - 10

    asyncio.run(main())


def test_litellm() -> None:
    import litellm

    hook = example("llm/litellm_hook.py")
    user = SimpleNamespace(user_id="ada")

    async def main() -> None:
        limits = hook.Limits(AsyncLimiter())
        request = {"model": "openai/gpt-4o", "messages": [{"role": "user", "content": PROMPT}]}
        data = await limits.async_pre_call_hook(user, None, dict(request), "completion")
        assert (await limits.limiter.peek(hook.TPM, "ada")).remaining < 100_000 - 4096
        response = await litellm.acompletion(**request)
        assert await limits.async_post_call_success_hook(data, user, response) is response
        assert (await limits.limiter.peek(hook.TPM, "ada")).remaining == 100_000 - 10
        huge: dict[str, Any] = {**request, "messages": "x" * 1_000_000}
        denied = await limits.async_pre_call_hook(user, None, huge, "completion")
        assert denied.startswith("too many tokens: try again in ")

    asyncio.run(main())


def test_arq(monkeypatch: pytest.MonkeyPatch) -> None:
    from arq import create_pool
    from arq.worker import create_worker

    with RedisServer() as server:
        monkeypatch.setenv("REDIS_URL", server.url)
        monkeypatch.setenv("SMS_PERIOD", "300")
        jobs = example("queues/arq_jobs.py")

        async def main() -> None:
            pool = await create_pool(jobs.Settings.redis_settings)
            queued = [await pool.enqueue_job("send", customer) for customer in ("ada", "ada", "ada", "eve")]
            worker = create_worker(jobs.Settings, burst=True, poll_delay=0.05, handle_signals=False)
            start = time.monotonic()
            await worker.main()
            # All succeed, though none may be tried twice; the third of one customer has waited for two turns.
            assert [await job.result(timeout=5) for job in queued if job] == ["ada", "ada", "ada", "eve"]
            assert worker.jobs_failed == 0
            assert worker.jobs_retried >= 2
            assert time.monotonic() - start >= 0.6
            await worker.close()
            await pool.aclose()

        asyncio.run(main())
