"""The application ``tidegate.django`` of ``INSTALLED_APPS``."""

from __future__ import annotations

from django.apps import AppConfig

from .._web.django.checks import register_checks

__all__ = ["TidegateConfig"]


class TidegateConfig(AppConfig):  # type: ignore[misc]
    """Adds the system checks."""

    name = "tidegate.django"
    label = "tidegate"

    def ready(self) -> None:
        """Registers the checks when Django starts."""
        register_checks()
