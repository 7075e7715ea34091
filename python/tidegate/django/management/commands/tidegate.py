"""``manage.py tidegate``: what an operator asks of a project's limits."""

from __future__ import annotations

from ...._web.django.command import Command

__all__ = ["Command"]
