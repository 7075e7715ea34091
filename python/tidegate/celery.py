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
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from celery.utils.time import rate
from celery.worker.consumer import Consumer as _Consumer

from ._errors import ConfigurationError, LimitError, StoreError
from ._tidegate import Concurrency, Held, Limit, Limiter, LimitInfo, TokenBucket
from ._web.store import LimiterLike, Store, store_of

__all__ = ["Consumer", "TaskBucket", "limit_of"]

# While a store that has to be asked does not answer, a task is tried again so often, in seconds.
RETRY = 1.0
# A place that another worker may release is asked for so soon, in seconds, and then after pauses that double.
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 0.25
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
        self.info: LimitInfo
        """The last answer."""
        self._hold = 0.0
        self._pause = FIRST_PAUSE
        self._timer: Any = None

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
        self.info = info
        self._hold = info.reset_ms / 1000
        if isinstance(self.limit, Concurrency):
            self._hold = min(self._hold, self._pause)
            self._pause = min(self._pause * 2, LONGEST_PAUSE) if info.blocked else FIRST_PAUSE
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
    _limit_order: int

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

    def _schedule_bucket_request(self, bucket: TaskBucket) -> None:
        """Start the tasks that may start; one with a limit of type concurrency has its place until it has ended."""
        if not isinstance(bucket.limit, Concurrency):
            super()._schedule_bucket_request(bucket)
            return
        while True:
            try:
                request, tokens = bucket.pop()
            except IndexError:
                return
            if not bucket.can_consume(tokens):
                bucket.contents.appendleft((request, tokens))
                self._look_again(bucket, bucket.expected_time(tokens))
                return
            held = Held._of(bucket.limiter, bucket.info)
            _at_the_end(request, partial(self._release, bucket, held))
            try:
                self._limit_move_to_pool(request)
            except BaseException:
                self._release(bucket, held)
                raise

    def _look_again(self, bucket: TaskBucket, seconds: float) -> None:
        """Look again after so many seconds, in place of the time that was set before."""
        if bucket._timer is not None:
            bucket._timer.cancel()
        self._limit_order = (self._limit_order + 1) % 10
        again = self._schedule_bucket_request
        bucket._timer = self.timer.call_after(seconds, again, (bucket,), priority=self._limit_order)

    def _release(self, bucket: TaskBucket, held: Held) -> None:
        try:
            held.release()
        except StoreError as error:
            _log.warning("the place of a task of %r comes back when its lease is over: %s", held.info.key, error)
        bucket._pause = FIRST_PAUSE
        if bucket.contents:
            self._look_again(bucket, 0)

    def _limiter(self) -> Limiter:
        if self._store is None:
            self._store = store_of(_configured(self.app.conf))
        return self._store.sync


# What Celery calls of a request when its task has ended: done, failed or to be tried again, too late, or revoked.
ENDS = ("on_success", "on_failure", "on_timeout", "_announce_revoked", "_announce_cancelled")


def _at_the_end(request: Any, call: Callable[[], None]) -> None:
    """Have this called when the task of the request has ended, however it ends; perhaps more than once."""

    def before(name: str, ends: Callable[..., Any]) -> Callable[..., Any]:
        def ended(*given: Any, **named: Any) -> Any:
            # A task may go on after a soft time limit.
            is_soft = name == "on_timeout" and (given[0] if given else named.get("soft"))
            try:
                return ends(*given, **named)
            finally:
                if not is_soft:
                    call()

        return ended

    for name in ENDS:
        if hasattr(request, name):
            setattr(request, name, before(name, getattr(request, name)))


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
