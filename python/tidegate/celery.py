"""Rate limits of Celery's tasks that hold for all workers together.

>>> from celery import Celery
>>> app = Celery("shop", broker="redis://localhost:6379/0")
>>> app.conf.worker_consumer = "tidegate.celery:Consumer"
>>> @app.task(rate_limit="10/m")
... def send(letter): ...
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Any, ClassVar

from celery.utils.time import rate
from celery.worker.consumer import Consumer as _Consumer

from ._errors import ConfigurationError, LimitError, StoreError
from ._tidegate import Limit, Limiter, TokenBucket
from ._web.store import LimiterLike, Store, store_of

__all__ = ["Consumer", "TaskBucket", "limit_of"]

# While a store that has to be asked does not answer, a task is tried again so often, in seconds.
RETRY = 1.0
PERIODS = {"s": 1000, "m": 60_000, "h": 3_600_000}

_log = logging.getLogger("tidegate")


def limit_of(task: Any) -> Limit | None:
    """The limit of a task, by its ``rate_limit``; ``None`` where it has none.

    As in Celery, ``"10/m"`` is one task every six seconds. The key is the name of the task. A ``rate_limit`` that is a
    definition is taken as it is: tasks with one definition share it.

    >>> from types import SimpleNamespace
    >>> from tidegate.celery import limit_of
    >>> limit_of(SimpleNamespace(name="shop.send", rate_limit="10/m"))
    TokenBucket('shop.send', count=10, period=60000, burst=1)
    """
    given = getattr(task, "rate_limit", None)
    if isinstance(given, Limit):
        return given
    try:
        # Celery's own reading decides what is a limit.
        if not rate(given):
            return None
        number, _, unit = str(given).partition("/")
        count, period = float(number), PERIODS[unit or "s"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        wanted = "a rate of Celery's, such as '10/m', or a definition"
        message = f"task {task.name!r}: rate_limit must be {wanted}, got {given!r}"
        raise LimitError(message, task.name, "rate_limit", repr(given)) from error
    if count < 1:
        return TokenBucket(task.name, count=1, period=period / count, burst=1)
    return TokenBucket(task.name, count=count, period=period, burst=1)


class TaskBucket:
    """The tasks of one kind that wait in this worker, and the limit that lets them through.

    It has the methods that Celery's consumer calls of its own buckets.

    >>> from tidegate import Limiter, TokenBucket
    >>> from tidegate.celery import TaskBucket
    >>> from tidegate.testing import Clock
    >>> limiter, send = Limiter(clock=Clock()), TokenBucket("shop.send", count=10, period=60_000, burst=1)
    >>> one, other = TaskBucket(limiter, send), TaskBucket(limiter, send)
    >>> one.can_consume(), other.can_consume(), other.expected_time()
    (True, False, 6.0)
    """

    actor: ClassVar[str] = "celery"
    """All tasks of a kind are one actor."""

    def __init__(self, limiter: Limiter, limit: Limit | None) -> None:
        self.limiter = limiter
        self.limit = limit
        self.contents: deque[Any] = deque()
        """Requests, each with the number of units that it takes."""
        self._hold = 0.0

    def add(self, item: Any) -> None:
        """Queues a request."""
        self.contents.append(item)

    def pop(self) -> Any:
        """Takes the first request; ``IndexError`` where there is none."""
        return self.contents.popleft()

    def clear_pending(self) -> None:
        """Drops all requests: the connection is lost, and the broker delivers them anew."""
        self.contents.clear()

    def can_consume(self, tokens: int = 1) -> bool:
        """Charges a request if it fits now."""
        if self.limit is None:
            return True
        try:
            info = self.limiter.limit(self.limit, self.actor, tokens)
        except StoreError as error:
            # Celery has taken the request out of the queue by now, so it must be told to put it back.
            _log.warning("tasks of %r wait, because their limit cannot be asked: %s", self.limit.key, error)
            self._hold = RETRY
            return False
        self._hold = info.reset_ms / 1000
        return not info.blocked

    def expected_time(self, tokens: int = 1) -> float:  # noqa: ARG002
        """The seconds until the request that did not fit is to be tried again."""
        return self._hold

    def __repr__(self) -> str:
        return f"<TaskBucket {self.limit!r}, {len(self.contents)} waiting>"


class Consumer(_Consumer):
    """Celery's consumer, whose workers share the ``rate_limit`` of each task.

    ``worker_consumer = "tidegate.celery:Consumer"`` in the configuration of the application puts it in place.
    ``tidegate_limiter`` there is a ``Limiter`` or the URL of a store. Without it the broker is the store, else the
    result backend, if one of them is Redis.

    >>> from celery import Celery
    >>> from tidegate import Limiter
    >>> app = Celery("shop", broker="amqp://localhost")
    >>> app.conf.worker_consumer = "tidegate.celery:Consumer"
    >>> app.conf.tidegate_limiter = Limiter("redis://localhost:6379/1", namespace="shop", on_error="raise")
    """

    _store: Store | None = None

    def bucket_for_task(self, type: Any) -> TaskBucket | None:
        """The bucket of a task, ``None`` where it has no ``rate_limit``.

        A bucket whose rate is changed while the worker runs keeps the tasks that wait in it.
        """
        limit = limit_of(type)
        bucket: TaskBucket | None = self.task_buckets.get(type.name)
        if bucket is not None:
            # What waits in a bucket that is no longer limited goes on when its turn comes.
            bucket.limit = limit
        elif limit is not None:
            bucket = TaskBucket(self._limiter(), limit)
        return None if limit is None else bucket

    def _limiter(self) -> Limiter:
        if self._store is None:
            self._store = store_of(_configured(self.app.conf))
        return self._store.sync


def _configured(conf: Any) -> LimiterLike:
    """The limiter of an application's configuration."""
    if "tidegate_limiter" in conf:
        limiter: LimiterLike = conf["tidegate_limiter"]
        return limiter
    for name in ("broker_read_url", "broker_url", "result_backend"):
        url = conf.get(name)
        if isinstance(url, str) and url.startswith(("redis://", "rediss://")) and ";" not in url:
            return url
    raise ConfigurationError("rate limits of tasks need a store: set tidegate_limiter, as the broker is not one Redis")
