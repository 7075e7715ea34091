"""``manage.py tidegate``: commands for operators."""

from __future__ import annotations

from ...._web.django.command import Command

__all__ = ["Command"]
