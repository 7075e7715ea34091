"""Views of ASGI's dictionaries: a request, its response, and the template of its route."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Protocol, TypeAlias
from urllib.parse import parse_qsl

from ..._tidegate import _template

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class HasScope(Protocol):
    """A request or connection of any ASGI framework."""

    @property
    def scope(self) -> Any:
        """The scope that the server gave."""


class Headers(Mapping[str, str]):
    """The fields of a message by their names, in any case; of several of a name the first."""

    __slots__ = ("_raw",)

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._raw = raw

    def __getitem__(self, name: str) -> str:
        wanted = name.lower().encode("latin-1")
        for key, value in self._raw:
            if key.lower() == wanted:
                return value.decode("latin-1")
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(key.decode("latin-1").lower() for key, _ in self._raw))

    def __len__(self) -> int:
        return len({key.lower() for key, _ in self._raw})

    def __repr__(self) -> str:
        return f"Headers({dict(self)!r})"


class Request:
    """A request or websocket handshake, as functions such as ``key`` get it.

    >>> from tidegate.asgi import Request
    >>> request = Request({"type": "http", "method": "GET", "path": "/", "headers": [(b"x-api-key", b"k1")]})
    >>> request.headers["X-Api-Key"], request.path
    ('k1', '/')
    """

    __slots__ = ("__weakref__", "scope")

    scope: Scope
    """The scope that the server gave."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    @property
    def method(self) -> str:
        """The method, upper case; empty for a websocket."""
        return str(self.scope.get("method", ""))

    @property
    def path(self) -> str:
        """The path, decoded."""
        return str(self.scope["path"])

    @property
    def headers(self) -> Headers:
        """The fields of the request."""
        return Headers(self.scope["headers"])

    @property
    def query_params(self) -> dict[str, str]:
        """The parameters of the query; of several of a name the last."""
        return dict(parse_qsl(self.scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies of the request; none where they cannot be read."""
        try:
            return {name: morsel.value for name, morsel in SimpleCookie(self.headers.get("cookie", "")).items()}
        except CookieError:
            return {}

    @property
    def client(self) -> tuple[str, int] | None:
        """The host and port at the other end of the connection, which may be a proxy."""
        client: tuple[str, int] | None = self.scope.get("client")
        return client

    @property
    def state(self) -> State:
        """Values that the application keeps with the request, as attributes."""
        return State(self.scope.setdefault("state", {}))


class State:
    """Attributes over a dictionary."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__ = values

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the state of this request has no {name!r}")


class Outcome:
    """The response to a request, as ``charge_on`` gets it.

    >>> from tidegate.asgi import Outcome
    >>> Outcome(401, []).status
    401
    """

    __slots__ = ("_raw", "error", "status")

    status: int
    """The status; 500 where the application raised instead."""
    error: BaseException | None
    """The exception that ended the application, if one did."""

    def __init__(self, status: int, headers: Any, error: BaseException | None = None) -> None:
        self.status = status
        self.error = error
        self._raw = headers

    @property
    def status_code(self) -> int:
        """The status, under the name that it has in the responses of frameworks."""
        return self.status

    @property
    def headers(self) -> Headers:
        """The fields of the response."""
        return Headers(self._raw)

    def __repr__(self) -> str:
        return f"Outcome({self.status}, error={self.error!r})"


def route_template(scope: Scope) -> str | None:
    """The template of the route that serves a request, as Starlette has noted it; ``None`` where it has not.

    With that of what it is mounted under it is a key of limits that a client cannot vary.
    """
    path = getattr(scope.get("route"), "path_format", None)
    return None if path is None else _template(mounted(scope) + path, "braces")


def mounted(scope: Scope) -> str:
    """The template of the path under which the application that serves a request is mounted; empty at the top."""
    root: str = scope.get("root_path", "")
    path = root.removeprefix(scope.get("app_root_path", root))
    if not path:
        return path
    found = _template_of(path, getattr(scope.get("router"), "routes", ()))
    if found is not None:
        return found
    # Not known how it is mounted: by the names of its parameters, never by their values.
    own = getattr(scope.get("route"), "param_convertors", ())
    names = [name for name in scope.get("path_params", ()) if name not in own]
    return "".join(f"/{{{name}}}" for name in names) if names else path


def _template_of(path: str, routes: Iterable[Any]) -> str | None:
    """The templates of the mounts that lead to a path, the first as the router would find them."""
    for mount in routes:
        below = getattr(mount, "routes", None)
        if below is None or not hasattr(mount, "path_regex"):
            continue
        match = mount.path_regex.match(path + "/")
        if match is None:
            continue
        rest = "/" + match.groupdict().get("path", "").rstrip("/")
        inner = "" if rest == "/" else _template_of(rest, below)
        if inner is not None:
            # Behind its own Starlette has the rest of the path.
            own: str = mount.path_format.removesuffix("/{path}")
            return own + inner
    return None
