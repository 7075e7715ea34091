"""Packs wheels anew with Zopfli, which takes seconds and saves a seventeenth of a download: ``repack.py FOLDER``."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import zopfli


def repack(wheel: Path) -> None:
    """Packs the same files in the same order, so that what the wheel records of them stays true."""
    packed = wheel.with_suffix(".packed")
    with zipfile.ZipFile(wheel) as old, zopfli.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry))
    packed.replace(wheel)


if __name__ == "__main__":
    for path in Path(sys.argv[1]).glob("*.whl"):
        repack(path)
