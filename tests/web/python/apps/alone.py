"""A FastAPI app that forgot the middleware."""

from __future__ import annotations

import logging

from fastapi import Depends, FastAPI

from tidegate.fastapi import RateLimit

logging.basicConfig(level=logging.WARNING, format="%(tidegate_code)s %(message)s")
app = FastAPI()


@app.get("/", dependencies=[Depends(RateLimit("2/day"))])
async def hello() -> str:
    return "hello"
