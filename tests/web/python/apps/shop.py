"""A Celery application whose tasks note when they ran, and where."""

from __future__ import annotations

import os
import time
from typing import Any, cast

import redis
from celery import Celery
from celery.signals import worker_ready

from tidegate import Concurrency

BROKER = os.environ["STORE"]

app = Celery("shop", broker=BROKER)
app.conf.worker_consumer = "tidegate.celery:Consumer"
app.conf.worker_prefetch_multiplier = 4
app.conf.broker_transport_options = {"polling_interval": 0.05}
app.conf.task_ignore_result = True

notes = redis.Redis.from_url(BROKER)


@app.task(rate_limit="20/s")
def send(number: int) -> None:
    notes.rpush("notes", f"{os.environ['WORKER']} {number} {time.time()}")


EXPORTS = Concurrency("exports", max=2, lease=1500)
LONG = Concurrency("long", max=1, lease=600_000)


def server_time() -> float:
    second, micros = cast("tuple[int, int]", notes.time())
    return float(second) + float(micros) / 1e6


@app.task(bind=True, rate_limit=EXPORTS, max_retries=1)
def export(self: Any, number: int, seconds: float, end: str) -> None:
    began = server_time()
    time.sleep(seconds)
    notes.rpush("exports", f"{number} {began} {server_time()}")
    if end == "fails":
        raise ValueError(number)
    if end == "retries":
        raise self.retry(countdown=0.1)


@app.task(rate_limit=LONG)
def long() -> None:
    notes.rpush("long", "begun")
    time.sleep(300)


@worker_ready.connect
def ready(**_worker: object) -> None:
    notes.rpush("ready", os.environ["WORKER"])
