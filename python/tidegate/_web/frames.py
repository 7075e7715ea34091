"""The requests that are being served in the current stack."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

__all__ = ["makes_once", "served", "serves"]

_serving: set[CodeType] = set()
_making: set[CodeType] = set()
# Starlette makes the middlewares of an application that is mounted below another when that is first served.
STACK = "build_middleware_stack"
OWN = __package__.partition(".")[0]

F = TypeVar("F", bound=Callable[..., Any])


def serves(function: F) -> F:
    """Marks a function of a framework's room that serves a request."""
    code: CodeType = function.__code__
    _serving.add(code)
    return function


def makes_once(function: F) -> F:
    """Marks a function that makes what it returns when it is first asked for, which a request may do, and keeps it."""
    code: CodeType = function.__code__
    _making.add(code)
    return function


def served() -> str:
    """The place in a request's code from which this is called; empty outside of requests, and of what is made once.

    It sees what runs in the same task or thread as the room.
    """
    frame: FrameType | None = sys._getframe(1)
    here = ""
    while frame is not None:
        if frame.f_code in _serving:
            return here
        if frame.f_code in _making or frame.f_code.co_name == STACK:
            return ""
        if not here and frame.f_globals.get("__name__", "").partition(".")[0] != OWN:
            here = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
