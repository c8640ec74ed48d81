"""`mcp-server-fetch`, as the registry has it, reads a page on loopback."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from acp_adapter.tools.mcp.servers import McpServer
from acp_adapter.tools.mcp.session_servers import SessionServers
from tests.mcp.test_session_servers import call, ready

PAGE = b"<html><head><title>Roses</title></head><body><h1>Roses</h1><p>Roses are <b>red</b>.</p></body></html>"


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = self.path == "/roses"
        self.send_response(200 if found else 404)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE if found else b"nothing")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(10)


def fetch(*options: str) -> McpServer:
    return McpServer("fetch", "stdio", sys.executable, ("-m", "mcp_server_fetch", *options))


async def test_a_page_is_fetched_and_one_that_is_not_there_is_a_failed_call(session: SessionServers, site: str) -> None:
    await ready(session, fetch("--allow-private-ips"))
    page = await call(session, "fetch__fetch", url=f"{site}/roses", raw=True)
    assert not page.failed and "Roses are" in page.text
    missing = await call(session, "fetch__fetch", url=f"{site}/tulips")
    assert missing.failed and "404" in missing.text


async def test_what_the_server_itself_refuses_is_told(session: SessionServers, site: str) -> None:
    await ready(session, fetch())
    refused = await call(session, "fetch__fetch", url=f"{site}/roses")
    assert refused.failed and "private" in refused.text
