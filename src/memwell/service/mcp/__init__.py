"""The MCP server: a memory as tools and resources for assistants, over standard streams or streamable HTTP.

Importing this room raises ``MissingDependency`` when the package mcp is not installed, or is older than 2.3.
"""

from __future__ import annotations

from memwell.errors import MissingDependency

try:
    from memwell.service.mcp.server import CALL, TOOLS, Choice, build_server, http_manager, serve_stdio
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "starlette", "pydantic", "anyio"):
        raise
    raise MissingDependency.of("the MCP server needs the package mcp, 2.3 or newer", "mcp") from error

__all__ = ["CALL", "TOOLS", "Choice", "build_server", "http_manager", "serve_stdio"]
