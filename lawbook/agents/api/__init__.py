"""Doors: the operations of a session for an agent outside, as commands (`./law ...`) and as an MCP server."""
