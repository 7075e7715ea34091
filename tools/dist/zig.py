"""The compiler of C and the linker for packages: zig's, from PyPI, which know an old C library wherever they run.

What they link takes the unwinder from the system's libgcc_s, and has none of its own. At its end Python stops other
threads by unwinding their stacks (`pthread_exit`), through the frames of this library: two unwinders that meet there
crash the process. But zig knows its own alone, so it gets a library with the names of the other one to link against.

``python zig.py COMMAND``: a command that builds for this machine as packages are built.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from project import OLDEST_GLIBC, ROOT, TARGET, run

UNWINDER = "libgcc_s.so.1"

# A third of the second level's: a wheel that is 60 kB smaller than with 100, where no call takes more than 3 % longer.
# What has to be fast says by itself that it is to be inlined.
INLINING = "-Cllvm-args=-inline-threshold=80"


def zig_target(target: str) -> str:
    """A target in zig's words, with the C library that it is linked against."""
    processor, _, system, library = target.split("-")
    oldest = ".".join(map(str, OLDEST_GLIBC))
    return f"{processor}-{system}-{library}.{oldest}"


def tool(name: str, folder: Path, *options: str) -> Path:
    """A program for cargo: the wrapper that makes zig take the arguments of rustc."""
    python = Path(sys.executable)
    words = [python.parent / "cargo-zigbuild", "zig", name, "--", *options]
    path = folder / name
    path.write_text(
        "#!/bin/sh\n"
        f"export CARGO_ZIGBUILD_ZIG_COMMAND={shlex.quote(str(python))} CARGO_ZIGBUILD_ZIG_COMMAND_ARGS='-m ziglang'\n"
        f'exec {shlex.join(map(str, words))} "$@"\n'
    )
    path.chmod(0o755)
    return path


def unwinder(target: str, folder: Path) -> Path:
    """A library with the names of the system's unwinder, and nothing behind them: to link against, not to load."""
    path, source, versions = folder / UNWINDER, folder / "unwinder.c", ROOT / "tools" / "dist" / "unwinder.map"
    source.write_text("".join(f"void {name}(void) {{}}\n" for name in re.findall(r"_Unwind_\w+", versions.read_text())))
    options = ["-target", zig_target(target), "-shared", "-nostdlib"]
    named = [f"-Wl,-soname,{UNWINDER}", f"-Wl,--version-script={versions}"]
    run(sys.executable, "-m", "ziglang", "cc", *options, *named, source, "-o", path)
    return path


def places() -> dict[str, str]:
    """Folders of this machine that sources are compiled from, with the names that stand for them in what is built."""
    home = Path.home()
    cargo = os.environ.get("CARGO_HOME", home / ".cargo")
    rustup = os.environ.get("RUSTUP_HOME", home / ".rustup")
    return {str(home): "home", str(rustup): "rustup", str(cargo): "cargo", str(ROOT): "tidegate"}


def environment(target: str) -> dict[str, str]:
    """The variables with which cargo builds for a target. All builds have the same, and so share what they compile."""
    folder = TARGET / "zig" / target
    folder.mkdir(parents=True, exist_ok=True)
    compiler = tool("cc", folder, "-g", "-fno-sanitize=all", "-target", zig_target(target))
    named = target.replace("-", "_")
    # Of several that fit the compiler takes the last.
    hidden = [f"--remap-path-prefix={path}={name}" for path, name in places().items()]
    mapped = [f"-ffile-prefix-map={path}={name}" for path, name in places().items()]
    return {
        "CARGO_TARGET_DIR": str(TARGET),
        f"CARGO_TARGET_{named.upper()}_LINKER": str(compiler),
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join([f"-Clink-arg={unwinder(target, folder)}", INLINING, *hidden]),
        f"CC_{named}": str(compiler),
        f"AR_{named}": str(tool("ar", folder)),
        f"CFLAGS_{named}": " ".join(mapped),
    }


def main() -> int:
    """Runs the command."""
    here = run("rustc", "--print", "host-tuple").strip()
    return subprocess.run(sys.argv[1:], env={**os.environ, **environment(here)}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
