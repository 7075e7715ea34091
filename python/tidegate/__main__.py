"""The command ``tidegate``, also as ``python -m tidegate``: see docs/command.md."""

import signal
import sys

from ._tidegate import _command


def main() -> int:
    """Run the command with this process's arguments, and return its exit code."""
    # The engine's code sees no exception of Python's, so an interrupt ends the process as it ends other commands.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
