"""What calls take, for type checkers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

from ._tidegate import Limit

__all__ = ["Check", "Choice", "Definition", "Definitions", "Duration", "Limited"]

Duration: TypeAlias = float | timedelta
"""Milliseconds, or a ``timedelta``."""

Definition: TypeAlias = Limit | Mapping[str, object]
"""A definition object, or a mapping in the wire form."""

Definitions: TypeAlias = Definition | Sequence[Definition]
"""A definition, or a list or tuple of them, which are decided together: all or nothing."""

Choice: TypeAlias = Callable[[Any], Definitions]
"""A function that chooses, by the ``context`` that the call is given."""

Limited: TypeAlias = Definition | Choice | Sequence[Definition | Choice]
"""What a call takes for a limit."""

_Limit: TypeAlias = Definition | Choice

Check: TypeAlias = tuple[_Limit, str] | tuple[_Limit, str, int] | tuple[_Limit, str, int, float]
"""A limit and who is being limited, then perhaps a cost, then perhaps a factor."""
