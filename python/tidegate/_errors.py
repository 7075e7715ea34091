"""What a call can raise."""

from __future__ import annotations

__all__ = ["LimitError", "StoreError"]


class LimitError(ValueError):
    """A definition, a cost, a factor or a time that cannot be; nothing was stored.

    >>> from tidegate import Bucket, LimitError
    >>> try:
    ...     Bucket("login", size=0)
    ... except LimitError as error:
    ...     print(error)
    ...     print(error.key, error.field, error.value)
    limit "login": size must be at least 1, got 0
    login size 0
    """

    key: str
    """The key of the limit, cut short where it is long; empty where none was given."""
    field: str
    """The field at fault, as the wire form spells it: ``size``, ``dripRate``, ``cost``, …"""
    value: str
    """The value at fault as text, cut short where it is long."""

    def __init__(self, message: str, key: str = "", field: str = "", value: str = "") -> None:
        super().__init__(message)
        self.key = key
        self.field = field
        self.value = value


class StoreError(ConnectionError):
    """A shared store failed, and the limiter was told to raise then. The store in memory never does."""
