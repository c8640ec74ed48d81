"""Tools of MCP servers (Model Context Protocol), through the official SDK: each session has its own servers."""
