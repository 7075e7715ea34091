"""The requests that are being served in the current stack."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

# Starlette makes the middlewares of an application that is mounted below another when that is first served.
STACK = "build_middleware_stack"
OWN = __package__.partition(".")[0]

F = TypeVar("F", bound=Callable[..., Any])

_ends: dict[CodeType, bool] = {}
"""The functions at which a look through the stack ends, with whether they serve requests."""


def serves(function: F) -> F:
    """Marks a function of a framework's room that serves a request."""
    _ends[function.__code__] = True
    return function


def makes_once(function: F) -> F:
    """Marks a function that makes what it returns when it is first asked for, which a request may do, and keeps it."""
    _ends[function.__code__] = False
    return function


def served() -> str:
    """The place in a request's code from which this is called; empty outside of requests, and of what is made once.

    It sees what runs in the same task or thread as the room.
    """
    frame: FrameType | None = sys._getframe(1)
    here = ""
    while frame is not None:
        code = frame.f_code
        if code in _ends or code.co_name == STACK:
            return here if _ends.get(code) else ""
        if not here and frame.f_globals.get("__name__", "").partition(".")[0] != OWN:
            here = f"{code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
