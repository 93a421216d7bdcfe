"""The service: the library behind HTTP and MCP, with keys, limits, an audit log and a page to look at it all."""
