"""A hook of LiteLLM's proxy: tokens per customer, reserved before a call and settled after it.

In the proxy's ``config.yaml``: ``litellm_settings: {callbacks: litellm_hook.limits}``.
"""

from __future__ import annotations

from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from tidegate import AsyncLimiter, Bucket, LimitInfo
from tidegate.llm import Estimator, usage_of

SIZE = 100_000
TPM = Bucket("tpm", size=SIZE, drip_size=SIZE, drip_rate=60_000)  # all of it back each minute
MOST = 4096


class Limits(CustomLogger):
    """Reserves tokens before a call, and settles those that it has used."""

    def __init__(self, limiter: AsyncLimiter) -> None:
        super().__init__()
        self.limiter = limiter
        self.estimator = Estimator()

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> Any:
        """Called by the proxy before a call; a string becomes the answer of a call that is denied.

        A client may send anything, so no field of its own decides what is reserved.
        """
        model = str(data["model"])
        estimate = len(str(data.get("messages"))) // 4 + self.estimator.estimate(model, "proxy", MOST)
        info = await self.limiter.limit(TPM, user_api_key_dict.user_id or "anonymous", cost=min(estimate, SIZE))
        if info.blocked:
            return f"too many tokens: try again in {info.reset_sec} seconds"
        data.setdefault("metadata", {})["tidegate"] = info
        return data

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """Called by the proxy with the response."""
        info, usage = data.get("metadata", {}).get("tidegate"), usage_of(response)
        if isinstance(info, LimitInfo) and usage is not None:
            self.estimator.record(str(data["model"]), "proxy", usage.output)
            await self.limiter.settle(info, usage.total)
        return response


limits = Limits(AsyncLimiter("memory://"))  # or "redis://localhost:6379": all proxies together
