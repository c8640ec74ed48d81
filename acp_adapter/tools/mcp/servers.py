"""McpServer: how to reach an MCP server, from the client's `mcpServers` or `[mcp_servers.NAME]` of config.toml."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from attrs import field, frozen

from acp_adapter.errors import InvalidParams
from acp_adapter.redaction import secrets_in

Transport = Literal["stdio", "http", "sse"]

CALL = 600.0
"""Seconds that a call may take where config.toml says nothing."""


@frozen
class McpServer:
    """`command`, `args` and `env` are for stdio; `url` and `headers` for http (streamable) and sse.

    `env` and `headers` may hold secrets: they go to the server and nowhere else.
    """

    name: str
    transport: Transport
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(factory=dict, repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    timeout: float = CALL

    @classmethod
    def of_client(cls, entry: Mapping[str, Any]) -> McpServer:
        """ACP's McpServer as JSON (ACP v1, section Session Setup, MCP Servers); without a type it is stdio.

        Raises InvalidParams for a transport that is not spoken here.
        """
        name, transport = str(entry.get("name") or "unnamed"), entry.get("type", "stdio")
        if transport == "stdio":
            env = {pair["name"]: pair["value"] for pair in entry.get("env") or ()}
            return cls(name, "stdio", command=entry["command"], args=tuple(entry.get("args") or ()), env=env)
        if transport not in ("http", "sse"):
            raise InvalidParams(f"The MCP server {name!r} has the transport {transport!r}, not stdio, http or sse.")
        headers = {pair["name"]: pair["value"] for pair in entry.get("headers") or ()}
        return cls(name, transport, url=entry["url"], headers=headers)

    @classmethod
    def of_config(cls, name: str, table: Mapping[str, Any]) -> McpServer:
        """A `[mcp_servers.NAME]` table: `command`, `args`, `env`; or `url`, `headers`, and `type = "sse"` for the older
        transport; `timeout` in seconds. Raises InvalidParams that says what is wrong."""
        where = f"config.toml: [mcp_servers.{name}]"
        command, url = table.get("command"), table.get("url")
        if not isinstance(command or url, str) or (command and url):
            raise InvalidParams(f"{where} needs either a command or a url.")
        timeout = _number(table.get("timeout", CALL), f"{where}: timeout")
        if command:
            args = tuple(_texts(table.get("args", ()), f"{where}: args"))
            return cls(name, "stdio", command, args, _pairs(table, "env", where), timeout=timeout)
        transport: Transport = "sse" if table.get("type") == "sse" else "http"
        return cls(name, transport, url=str(url), headers=_pairs(table, "headers", where), timeout=timeout)

    @property
    def secrets(self) -> Iterator[str]:
        """What it is given that looks like a secret: it must not come back in a result."""
        yield from secrets_in(self.env)
        yield from secrets_in(self.headers)

    @property
    def place(self) -> str:
        """Where it is, for a person: without arguments and query, which may hold secrets."""
        return self.command if self.transport == "stdio" else self.url.partition("?")[0].rpartition("@")[2]


def configured(tables: Mapping[str, Mapping[str, Any]]) -> tuple[list[McpServer], list[str]]:
    """The servers of config.toml, and a sentence for each table that is not one."""
    servers, problems = [], []
    for name, table in tables.items():
        try:
            servers.append(McpServer.of_config(name, table))
        except InvalidParams as fault:
            problems.append(f"{fault.message} It is left out.")
    return servers, problems


def merged(client: Iterable[McpServer], config: Iterable[McpServer]) -> list[McpServer]:
    """Both, the client's before one of the same name in config.toml."""
    return list({server.name: server for server in (*config, *client)}.values())


def _pairs(table: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    pairs = table.get(key, {})
    if not isinstance(pairs, dict):
        raise InvalidParams(f"{where}: {key} must be a table of texts.")
    return {name: str(value) for name, value in pairs.items()}


def _texts(values: Any, where: str) -> list[str]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise InvalidParams(f"{where} must be a list of texts.")
    return list(values)


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise InvalidParams(f"{where} must be a number of seconds.")
    return float(value)
