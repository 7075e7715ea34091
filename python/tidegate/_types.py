"""What calls take, for type checkers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Union

from ._tidegate import Limit

__all__ = ["Check", "Choice", "Definition", "Definitions", "Duration", "Limited"]

Duration = Union[float, timedelta]
"""Milliseconds, or a ``timedelta``."""

Definition = Union[Limit, Mapping[str, object]]
"""A definition object, or a mapping in the wire form."""

Definitions = Union[Definition, Sequence[Definition]]
"""A definition, or a list or tuple of them, which are decided together: all or nothing."""

Choice = Callable[[Any], Definitions]
"""A function that chooses, by the ``context`` that the call is given."""

Limited = Union[Definition, Choice, Sequence[Union[Definition, Choice]]]
"""What a call takes for a limit."""

_Limit = Union[Definition, Choice]

Check = Union[tuple[_Limit, str], tuple[_Limit, str, int], tuple[_Limit, str, int, float]]
"""A limit and who is being limited, then perhaps a cost, then perhaps a factor."""
