"""The names of django-ratelimit, with the same arguments, over the stores of ``tidegate.django``.

>>> from tidegate.django.ratelimit import ratelimit
>>> @ratelimit(key="ip", rate="5/m")
... def search(request): ...
"""

from __future__ import annotations

from .._web.django.ratelimit import (
    ALL,
    UNSAFE,
    Ratelimited,
    RatelimitMiddleware,
    Usage,
    get_usage,
    is_ratelimited,
    ratelimit,
)

__all__ = ["ALL", "UNSAFE", "RatelimitMiddleware", "Ratelimited", "Usage", "get_usage", "is_ratelimited", "ratelimit"]
