"""The part that modules for HTTP clients share: a request's way through the limits, for sync and async callers."""
