"""The parts of ``tidegate.flask``."""
