"""Installs what `make dist` built where nothing was built, and uses it.

The place is a fresh Debian testing: no compiler, no checkout, several versions of Python, Node, and a Valkey server.
Nothing is downloaded there but Debian's own packages; Django comes as a file beside ours.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from project import DIST, ROOT

PYTHONS = ("3.13", "3.14", "3.15")
PACKAGES = [
    "ca-certificates",
    *(f"python{version}-venv" for version in PYTHONS),
    "nodejs",
    "npm",
    "valkey-server",
]
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
DJANGO = "Django==6.1.*"


def run(*command: str | Path) -> None:
    """Runs a command, or ends here."""
    print("+", *command, flush=True)
    if subprocess.run(command, cwd=ROOT).returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}")


def need(condition: object, what: str) -> None:
    """Ends here if something is missing: what was not checked must not look checked."""
    if not condition:
        sys.exit(f"dist-check needs {what}")


def make_root(folder: Path) -> None:
    """A fresh system. A mirror may be a copy of some weeks ago, whose lists have run out."""
    options = ["--variant=apt", "--aptopt=Acquire::Check-Valid-Until false", f"--include={','.join(PACKAGES)}"]
    run("mmdebstrap", *options, "testing", folder, MIRROR)


def main() -> None:
    """Makes the system, puts the packages into it, and runs tools/dist/use.sh there."""
    need(os.geteuid() == 0, "root, to make a system of its own")
    if not shutil.which("mmdebstrap"):
        run("apt-get", "install", "--yes", "--quiet", "mmdebstrap")
    need(list(DIST.glob("*.whl")) and list(DIST.glob("*.tgz")), "the packages: run `make dist` first")
    with tempfile.TemporaryDirectory(prefix="tidegate-dist-") as name:
        system = Path(name) / "system"
        make_root(system)
        packages = system / "packages"
        packages.mkdir()
        for path in [*DIST.glob("*.whl"), *DIST.glob("*.tgz")]:
            shutil.copy(path, packages)
        # Django needs Python 3.12, which this one may not be.
        options: list[str | Path] = ["--quiet", "--only-binary=:all:", "--python-version=3.13", "--dest", packages]
        run(sys.executable, "-m", "pip", "download", *options, DJANGO)
        for script in (ROOT / "tools" / "dist" / "use").iterdir():
            shutil.copy(script, packages)
        # A network of its own, with nothing but the loopback interface.
        inside = 'ip link set lo up 2>/dev/null; exec chroot "$0" sh /packages/use.sh'
        run("unshare", "--net", "sh", "-c", inside, system)


if __name__ == "__main__":
    main()
