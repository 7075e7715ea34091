"""Schemas by which pydantic reads and writes limits and answers; imported only once pydantic asks for one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import core_schema

from ._tidegate import CallExplanation, Explanation, Limit, LimitInfo

__all__ = ["schema", "wire_schema"]

DERIVED = {"allowed", "reset_sec", "full_reset_sec"}


def schema(cls: type) -> core_schema.CoreSchema:
    """Return the core schema of a native class."""
    if issubclass(cls, Limit):
        return wire_schema(lambda value: _limit(cls, value), lambda limit: limit.to_dict())
    if issubclass(cls, LimitInfo):
        return wire_schema(_info, lambda info: info.to_dict())
    if issubclass(cls, Explanation):
        return wire_schema(_instance(cls), lambda explanation: explanation.to_dict())
    assert issubclass(cls, CallExplanation)
    return wire_schema(_instance(cls), lambda answer: {"text": str(answer), "info": answer.info.to_dict()})


def wire_schema(read: Callable[[Any], Any], write: Callable[[Any], dict[str, Any]]) -> core_schema.CoreSchema:
    """Return the core schema of objects that ``read`` makes of a value, and that JSON has as a dict."""
    wire = core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
    return core_schema.json_or_python_schema(
        json_schema=core_schema.no_info_after_validator_function(read, wire),
        python_schema=core_schema.no_info_plain_validator_function(read),
        serialization=core_schema.plain_serializer_function_ser_schema(write, return_schema=wire, when_used="json"),
    )


def _limit(cls: type, value: Any) -> Limit:
    if isinstance(value, str):
        # As a variable of the environment holds it.
        if not value.lstrip().startswith("{"):
            raise ValueError("a limit as text has no key: give an object in the wire form, or use Limits")
        value = json.loads(value)
    limit = value if isinstance(value, Limit) else Limit.from_dict(value)
    if not isinstance(limit, cls):
        raise ValueError(f"must be a {cls.__name__}, got a {type(limit).__name__}")
    return limit


def _info(value: Any) -> LimitInfo:
    if isinstance(value, LimitInfo):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("must be a LimitInfo")
    fields = {name: field for name, field in value.items() if name not in DERIVED}
    if "checks" in fields:
        fields["checks"] = [_info(check) for check in fields["checks"]]
    return LimitInfo(**fields)


def _instance(cls: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, cls):
            raise ValueError(f"must be a {cls.__name__}")
        return value

    return read
