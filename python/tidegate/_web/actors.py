"""Actors of the keys that applications give."""

from __future__ import annotations

from .._errors import LimitError
from .._tidegate import _key_of
from .failure import invalid

__all__ = ["Marked", "actor_of"]


class Marked(str):
    """An actor that is one already, and no key."""

    __slots__ = ()


def actor_of(key: object) -> str:
    """The actor of a key. Numbers and UUIDs are common as keys of users."""
    if type(key) is str:
        return _key_of(key)
    if isinstance(key, Marked):
        return str(key)
    try:
        if (isinstance(key, str | int) and not isinstance(key, bool)) or type(key).__name__ == "UUID":
            return _key_of(str(key))
    except ValueError:
        # An integer of so many digits that Python does not write it.
        key = "a huge number"
    message = f"key must return text, a whole number or a UUID, got {key!r}"
    raise invalid(LimitError(message, "", "key", repr(key)), "key")
