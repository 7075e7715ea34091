"""Rate limiting for Django REST framework: a throttle class. The stores are those of ``tidegate.django``.

>>> from tidegate.drf import RateLimitThrottle
>>> class Burst(RateLimitThrottle):
...     limits = ["10/second", "1000/day"]
"""

from __future__ import annotations

from ._web.django.throttle import RateLimitThrottle

__all__ = ["RateLimitThrottle"]
