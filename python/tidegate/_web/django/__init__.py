"""The parts of ``tidegate.django`` and ``tidegate.drf``."""
