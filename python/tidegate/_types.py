"""What calls take, for type checkers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from ._tidegate import Limit

__all__ = ["Check", "Choice", "Definition", "Definitions", "Duration", "Limited"]

Duration = float | timedelta
"""Milliseconds, or a ``timedelta``."""

Definition = Limit | Mapping[str, object]
"""A definition object, or a mapping in the wire form."""

Definitions = Definition | Sequence[Definition]
"""A definition, or a list or tuple of them, which are decided together: all or nothing."""

Choice = Callable[[Any], Definitions]
"""A function that chooses, by the ``context`` that the call is given."""

Limited = Definition | Choice | Sequence[Definition | Choice]
"""What a call takes for a limit."""

_Limit = Definition | Choice

Check = tuple[_Limit, str] | tuple[_Limit, str, int] | tuple[_Limit, str, int, float]
"""A limit and who is being limited, then perhaps a cost, then perhaps a factor."""
