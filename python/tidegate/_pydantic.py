"""How pydantic reads and writes limits and answers; imported by pydantic's own questions alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import core_schema

from ._limits import Limits
from ._tidegate import Explanation, Limit, LimitInfo, Standing

__all__ = ["schema"]

DERIVED = {"allowed", "reset_sec", "full_reset_sec"}


def schema(cls: type) -> core_schema.CoreSchema:
    """Return the core schema of a class of this package."""
    if issubclass(cls, Limit):
        return _schema(lambda value: _limit(cls, value), lambda limit: limit.to_dict())
    if issubclass(cls, Limits):
        return _schema(_limits, lambda limits: {name: limit.to_dict() for name, limit in limits.items()})
    if issubclass(cls, LimitInfo):
        return _schema(_info, lambda info: info.to_dict())
    if issubclass(cls, Explanation):
        return _schema(_instance(cls), lambda explanation: explanation.to_dict())
    assert issubclass(cls, Standing)
    return _schema(_instance(cls), lambda standing: {"text": str(standing), "info": standing.info.to_dict()})


def _schema(read: Callable[[Any], Any], write: Callable[[Any], dict[str, Any]]) -> core_schema.CoreSchema:
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


def _limits(value: Any) -> Limits:
    if isinstance(value, Limits):
        return value
    if isinstance(value, Mapping):
        return Limits.from_dict(value)
    if not isinstance(value, str):
        raise ValueError("must be a mapping of names to limits")
    # As a variable of the environment holds it.
    return Limits.from_text(value, "json")


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
