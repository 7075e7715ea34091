"""The common part of rooms whose requests have an environ: Flask's, and Django's of both kinds."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from .._errors import ConfigurationError
from .decision import Record
from .failure import invalid, of_peer
from .guard import Guard
from .room import Room

R = TypeVar("R")


class EnvironRecord(Record):
    seen: frozenset[Guard[Any]] = frozenset()
    """Guards that have been asked, or that do not apply."""

    def carry(self, response: Any, is_stream: bool) -> bool:
        """Writes the headers, and notes what is not charged; true for a stream that may change what is."""
        blocked = self.decisions[-1].blocked
        status, fields = response.status_code, response.headers
        for name, value in self.gate.headers(self.infos, status):
            # A refusal has them already. Others get them in place of their own: of two a client reads neither.
            if not blocked or name not in fields:
                fields[name] = value
        if blocked:
            for name, value in self.lacking(fields, status):
                fields[name] = value
        self.judge(status, response)
        return is_stream and not blocked and (self.waits or any(part.guard.has_cost for part in self.parts()))


# Werkzeug's ProxyFix keeps here what it has replaced.
REPLACED = "werkzeug.proxy_fix.orig"
# Proxies write a blank behind a comma.
JOINED = re.compile(r",\S")


class EnvironRoom(Room[R]):
    """Clients and headers as an environ says them."""

    environ: ClassVar[attrgetter[Mapping[str, Any]]]
    """The variables of a request."""

    @cached_property
    def _forwarded(self) -> str:
        return _variable(self.gate.forwarded_header)

    def client(self, request: R) -> str:
        """The address that is limited by default, by the connection's other end as the server says."""
        environ, gate = self.environ(request), self.gate
        if REPLACED in environ and gate.trusts_nobody:
            # The application has made the address out of the header already.
            try:
                return gate.client(environ.get("REMOTE_ADDR"))
            except ConfigurationError:
                # The header had none. It is the one who wrote that, as where the header is read here.
                return gate.client(environ[REPLACED].get("REMOTE_ADDR"))
        peer = environ.get(REPLACED, environ).get("REMOTE_ADDR")
        line = environ.get(self._forwarded)
        # The line may be one of `X-Forwarded-For` and one of `X_Forwarded_For`, which proxies pass on. Only the server
        # of `wsgiref` joins them, without a blank. Which of both stands behind cannot be told.
        if line is not None and not gate.trusts_nobody and JOINED.search(line) and "-" in gate.forwarded_header:
            server = str(environ.get("SERVER_SOFTWARE", ""))
            if server.startswith("WSGIServer/"):
                gate.report("underscored-header", gate.forwarded_header)
                line = None
        has_left = peer is None and self.has_left(request)
        try:
            return gate.client(peer, None if has_left else line)
        except ConfigurationError as error:
            if has_left:
                raise invalid(error, "key") from error
            raise of_peer(error, peer, [environ[name] for name in environ if "FORWARDED" in name]) from error

    def has_left(self, request: R) -> bool:  # noqa: ARG002
        """The client has reset the connection, so that the server has no address of it."""
        return False

    def lines(self, request: R, name: str) -> Sequence[str | bytes]:
        line = self.environ(request).get(_variable(name))
        return () if line is None else (line,)

    def begin(self, environ: Mapping[str, Any]) -> None:
        """Looks for mistakes of the configuration once, beside the first request."""
        self.start()
        if self.store.shared:
            threading.Thread(target=self.reached, name="tidegate-start", daemon=True).start()
        elif environ.get("wsgi.multiprocess") and "wsgi.version" in environ:
            # What Django makes of an ASGI scope has no version, and always says so.
            self.gate.report("memory-many-workers", "the server has several processes")


@lru_cache(256)
def _variable(header: str) -> str:
    """The name that a header has in an environ."""
    name = header.upper().replace("-", "_")
    return name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"


class Settled:
    """The body of a stream. It is settled behind its last part, and when it breaks off."""

    def __init__(self, parts: Iterable[Any], record: Record) -> None:
        self._parts = parts
        self._iterator = iter(parts)
        self._record = record

    def __iter__(self) -> Settled:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._iterator)
        except BaseException:
            # The end is an exception too.
            self._record.close()
            raise

    def close(self) -> None:
        """Ends the stream, as servers do when a client goes away."""
        try:
            close = getattr(self._parts, "close", None)
            if close is not None:
                close()
        finally:
            self._record.close()
