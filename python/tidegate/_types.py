"""What calls take, for type checkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Union

from ._tidegate import Limit

__all__ = ["Check", "Definition", "Duration", "Limits"]

Duration = Union[float, timedelta]
"""Milliseconds, or a ``timedelta``."""

Definition = Union[Limit, Mapping[str, object]]
"""A definition object, or a mapping in the wire form."""

Limits = Union[Definition, Sequence[Definition]]
"""A definition, or a list or tuple of them, which are decided together: all or nothing."""

Check = Union[tuple[Definition, str], tuple[Definition, str, int], tuple[Definition, str, int, float]]
"""A limit and who is being limited, then perhaps a cost, then perhaps a factor."""
