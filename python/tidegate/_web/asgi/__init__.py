"""ASGI: what ``tidegate.asgi`` and the frameworks above it share."""
