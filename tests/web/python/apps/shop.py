"""A Celery application whose tasks note when they ran, and where."""

from __future__ import annotations

import os
import time

import redis
from celery import Celery
from celery.signals import worker_ready

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


@worker_ready.connect
def ready(**_worker: object) -> None:
    notes.rpush("ready", os.environ["WORKER"])
