"""Jobs of arq that are rate limited: ``arq arq_jobs.Settings``."""

from __future__ import annotations

import os
from typing import Any

from arq import Retry
from arq.connections import RedisSettings
from arq.constants import retry_key_prefix

from tidegate import AsyncLimiter, TokenBucket
from tidegate.queues import defer_by

URL = os.environ.get("REDIS_URL", "redis://localhost:6379")
SMS = TokenBucket("sms", count=1, period=int(os.environ.get("SMS_PERIOD", "60000")))

limiter = AsyncLimiter(URL)


async def send(ctx: dict[str, Any], customer: str) -> str:
    """Sends a message, at most one a minute to each customer."""
    info = await limiter.limit(SMS, customer)
    if info.blocked:
        # arq has counted this run as a try. It is taken off again.
        await ctx["redis"].decr(retry_key_prefix + ctx["job_id"])
        raise Retry(defer=defer_by(info))
    return customer


class Settings:
    """Settings of the worker: a job may not be tried twice."""

    functions = (send,)
    redis_settings = RedisSettings.from_dsn(URL)
    max_tries = 1
