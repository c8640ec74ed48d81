"""fetch_url against a real server on loopback: what comes back, where it may lead, and what is refused."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from acp_adapter.errors import ToolError
from acp_adapter.tools import fetch
from acp_adapter.tools.web_page import markdown_of
from tests.tools.bench import Bench

PAGE = (
    """<!doctype html><html><head><title>The manual</title><style>p {}</style><script>evil()</script></head><body>
<nav><a href="/">Home</a></nav><main><h1>Install</h1><p>Read <a href="guide#top">the guide</a> first. """
    + "word " * 60
    + """</p>
<pre><code class="language-sh">pip install it
  --now</code></pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<img src="data:image/png;base64,AAAA" alt="dot"></main><footer>legal</footer></body></html>"""
)

Answer = tuple[int, dict[str, str], bytes]


class Site:
    """Answers by path; `seen` are the requests that came."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.answers: dict[str, Answer | Callable[[], Answer]] = {}

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def html(self, path: str, text: str) -> None:
        self.answers[path] = 200, {"content-type": "text/html; charset=utf-8"}, text.encode()


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.seen.append((self.path, dict(self.headers)))
            answer = found.answers.get(self.path, (404, {}, b"no such page"))
            status, headers, body = answer() if callable(answer) else answer
            self.send_response(status)
            for name, value in {"content-length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Site(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join(5)


async def test_a_page_comes_as_markdown_without_what_only_a_browser_needs(bench: Bench, site: Site) -> None:
    site.html("/docs/install", PAGE)
    got = await bench.text("fetch_url", url=site.url("/docs/install#part"))
    assert got.startswith("# The manual\n\n# Install\n")
    assert f"[the guide]({site.url('/docs/guide#top')})" in got
    assert "```sh\npip install it\n  --now\n```" in got
    assert "| a | b |" in got
    for gone in ("evil", "Home", "legal", "base64", "p {}"):
        assert gone not in got
    ((path, headers),) = site.seen
    assert path == "/docs/install"
    assert "cookie" not in {name.lower() for name in headers}


async def test_text_and_json_come_as_they_are(bench: Bench, site: Site) -> None:
    site.answers["/a.json"] = 200, {"content-type": "application/json"}, '{"ä": 1}'.encode()
    site.answers["/b"] = 200, {"content-type": "text/plain; charset=latin-1"}, "grün".encode("latin-1")
    assert await bench.text("fetch_url", url=site.url("/a.json")) == '{"ä": 1}'
    assert await bench.text("fetch_url", url=site.url("/b")) == "grün"


async def test_a_long_text_comes_in_parts_that_make_the_whole(bench: Bench, site: Site) -> None:
    whole = "".join(f"line {n}\n" for n in range(12_000))
    site.answers["/long"] = 200, {"content-type": "text/plain"}, whole.encode()
    got, start = "", 1
    for _ in range(10):
        part = await bench.text("fetch_url", url=site.url("/long"), start=start)
        text, note, rest = part.partition("\n[")
        got += text
        if not note:
            break
        start = int(rest.partition("start=")[2].rstrip(".]"))
    assert got == whole
    assert "can't begin at" in await bench.refused("fetch_url", url=site.url("/long"), start=len(whole) + 1)


async def test_the_permission_is_asked_for_the_host(bench: Bench) -> None:
    intent = await bench.intent("fetch_url", url="https://Docs.Python.org:443/3/#x")
    assert (intent.kind, intent.action, intent.domain) == ("fetch", "fetch", "docs.python.org")


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://a/b", "file:///etc/passwd", "//a/b", "a.b/c", "", "http://", "http://a:0/", "http://a:99999/"),
        *("http://a b/", "http://a/\nHost: b", "http://a/\u202eb", "javascript:alert(1)", "http://user:pw@a/"),
        *("http://*/", "http://a%41/", "http://a\\b/"),
    ],
)
async def test_what_is_no_plain_web_address_is_refused_before_anything_is_asked(bench: Bench, url: str) -> None:
    with pytest.raises(ToolError, match="url must"):
        await bench.intent("fetch_url", url=url)


async def test_a_redirect_is_followed_on_the_same_host_and_told_of_elsewhere(bench: Bench, site: Site) -> None:
    site.answers["/old"] = 301, {"location": "/new"}, b""
    site.answers["/new"] = 200, {"content-type": "text/plain"}, b"here"
    site.answers["/away"] = 302, {"location": "http://other.example/x"}, b""
    site.answers["/file"] = 302, {"location": "file:///etc/passwd"}, b""
    site.answers["/loop"] = 302, {"location": "/loop"}, b""
    assert await bench.text("fetch_url", url=site.url("/old")) == "here"
    assert "redirects to http://other.example/x, which is another host" in await bench.refused(
        "fetch_url", url=site.url("/away")
    )
    assert "url must be" in await bench.refused("fetch_url", url=site.url("/file"))
    assert "redirects more than" in await bench.refused("fetch_url", url=site.url("/loop"))


async def test_a_name_that_leads_to_a_private_address_is_not_even_asked(
    bench: Bench, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers["/"] = 200, {"content-type": "text/plain"}, b"the router's secrets"
    loop = asyncio.get_running_loop()
    real = loop.getaddrinfo

    async def resolved(host: Any, *args: Any, **kwargs: Any) -> Any:
        return await real("127.0.0.1" if host in ("public.example", b"public.example") else host, *args, **kwargs)

    monkeypatch.setattr(loop, "getaddrinfo", resolved)
    told = await bench.refused("fetch_url", url=site.url("/", host="public.example"))
    assert "leads to 127.0.0.1" in told and "secrets" not in told
    assert not site.seen, "a router may act on a mere request"
    assert await bench.text("fetch_url", url=site.url("/", host="localhost")) == "the router's secrets"


async def test_errors_binaries_and_floods_are_told_in_a_sentence(
    bench: Bench, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "LARGEST", 1000)
    site.answers["/png"] = 200, {"content-type": "image/png"}, b"\x89PNG"
    site.answers["/flood"] = 200, {"content-type": "text/plain"}, b"x" * 5000
    site.answers["/empty"] = 200, {"content-type": "text/plain"}, b" \n"
    assert "answered 404 Not Found" in await bench.refused("fetch_url", url=site.url("/none"))
    assert "is image/png (4 bytes), which is no text" in await bench.refused("fetch_url", url=site.url("/png"))
    assert "larger than" in await bench.refused("fetch_url", url=site.url("/flood"))
    assert await bench.text("fetch_url", url=site.url("/empty")) == "[The page holds no text.]"
    assert "can't be fetched" in await bench.refused("fetch_url", url="http://127.0.0.1:9/")


async def test_a_server_that_stays_silent_is_given_up(
    bench: Bench, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "PATIENCE", 0.2)
    released = threading.Event()

    def late() -> Answer:
        released.wait(30)
        return 200, {}, b""

    site.answers["/slow"] = late
    try:
        told = await bench.refused("fetch_url", url=site.url("/slow"))
    finally:
        released.set()
    assert "did not answer" in told or "can't be fetched" in told


def test_a_page_without_a_main_part_is_taken_whole() -> None:
    assert markdown_of("<p>one</p><p>two</p>", "http://a/") == "one\n\ntwo"


@pytest.mark.parametrize("tag", ["div", "ul><li", "table><tr><td", "blockquote"])
async def test_a_page_that_is_nested_absurdly_deep_is_read_as_its_words(bench: Bench, site: Site, tag: str) -> None:
    site.html("/deep", f"<{tag}>" * 3000 + "bottom")
    assert await bench.text("fetch_url", url=site.url("/deep")) == "bottom"
