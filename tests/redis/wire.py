"""A wire between two network namespaces, over which packets can be lost."""

from __future__ import annotations

import fcntl
import os
import random
import select
import shutil
import struct
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

__all__ = ["Wire", "why_not"]

TUN = Path("/dev/net/tun")
# From linux/if_tun.h.
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
LONGEST_PACKET = 65_535


def why_not() -> str | None:
    """The reason why no wire can be made here; none if one can."""
    if shutil.which("ip") is None:
        return "`ip` is missing (Debian: iproute2)"
    if not TUN.exists():
        return f"{TUN} is missing"
    name = f"tidegate-{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return f"network namespaces cannot be made, which takes root: {made.stderr.strip()}"
    ip("netns", "delete", name)
    return None


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Wire:
    """Two namespaces, and packets that this process carries from one to the other.

    Whoever runs with ``here`` before its command reaches whoever runs with ``there`` at ``address``. ``loss`` is the
    share of packets that get lost on the way, chosen by a generator with a fixed seed.
    """

    address = "192.0.2.2"

    def __init__(self, seed: int = 1) -> None:
        self.names = [f"tidegate-{os.getpid()}-{side}" for side in ("here", "there")]
        self.here, self.there = (["ip", "netns", "exec", name] for name in self.names)
        self.loss = 0.0
        self.carried = self.lost = 0
        self.dice = random.Random(seed)
        self.ends: list[int] = []
        self.over, self.wake = os.pipe()
        self.carrier = threading.Thread(target=self._carry)

    def __enter__(self) -> Self:
        try:
            for number, (name, own, other) in enumerate(
                zip(self.names, ("192.0.2.1", self.address), ("192.0.2.2", "192.0.2.1"))
            ):
                device = f"tg{os.getpid()}-{number}"
                ip("netns", "add", name)
                self.ends.append(tunnel(device))
                ip("link", "set", device, "netns", name)
                ip("-n", name, "address", "add", own, "peer", other, "dev", device)
                ip("-n", name, "link", "set", device, "up")
                ip("-n", name, "link", "set", "lo", "up")
        except BaseException:
            self._clean()
            raise
        self.carrier.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.write(self.wake, b"over")
        self.carrier.join()
        self._clean()

    def _clean(self) -> None:
        for descriptor in [*self.ends, self.over, self.wake]:
            os.close(descriptor)
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    def _carry(self) -> None:
        here, there = self.ends
        across = {here: there, there: here}
        while True:
            for end in select.select([self.over, here, there], [], [])[0]:
                if end == self.over:
                    return
                packet = os.read(end, LONGEST_PACKET)
                if self.loss and self.dice.random() < self.loss:
                    self.lost += 1
                else:
                    self.carried += 1
                    os.write(across[end], packet)


def tunnel(device: str) -> int:
    """A new network device; what is sent through it is read from this descriptor, and the other way round."""
    end = os.open(TUN, os.O_RDWR)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
    return end
