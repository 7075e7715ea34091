"""A server of the Model Context Protocol whose tool is limited per user and per session: ``python mcp_server.py``."""

from __future__ import annotations

from typing import Any, NoReturn

from mcp.server.mcpserver import Context, MCPServer, authenticated_principal
from mcp.server.mcpserver.exceptions import ToolError

from tidegate import AsyncLimiter, BlockedError, TokenBucket
from tidegate.llm import limit_tool
from tidegate.testing import Clock

BY_USER = TokenBucket("search-user", count=100, period=3_600_000)
BY_SESSION = TokenBucket("search-session", count=1, period=60_000)

clock = Clock()  # stands still for a test; a server that runs has none
limiter = AsyncLimiter("memory://", clock=clock)  # or "redis://localhost:6379": all processes together
server = MCPServer("library")


def callers(query: str, context: Context[Any, Any]) -> list[tuple[TokenBucket, str]]:  # noqa: ARG001
    """The limits of a call: over HTTP, the token and the session say who calls; over pipes there is one of each."""
    user = authenticated_principal(context.request_context) or "local"
    session = (context.headers or {}).get("mcp-session-id", "local")
    return [(BY_USER, user), (BY_SESSION, session)]


def denied(error: BlockedError) -> NoReturn:
    """Only a ``ToolError`` shows its message to the agent: it says when to retry."""
    raise ToolError(str(error))


@server.tool()
@limit_tool(limiter, callers, denied=denied)
async def search(query: str, context: Context[Any, Any]) -> str:  # noqa: ARG001
    """Searches the library."""
    return f"nothing about {query}"


if __name__ == "__main__":
    server.run()
