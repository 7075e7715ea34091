"""The time that an import takes, in milliseconds."""

import time

begun = time.perf_counter()
import tidegate  # noqa: E402, F401

print(f"{(time.perf_counter() - begun) * 1000:.1f}")
