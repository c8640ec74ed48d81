"""A page of the web as Markdown: its main text, without what only a browser needs."""

from __future__ import annotations

from urllib.parse import urljoin

NOISE = ("script", "style", "noscript", "template", "svg", "iframe", "form", "nav", "footer")
MAIN = ("main", "article", "[role=main]")
SHORTEST = 200
"""Characters of text from which an element that calls itself the main one is taken at its word."""


def markdown_of(html: str, url: str) -> str:
    """The page at `url` in Markdown: its title, then its main part, with absolute links."""
    # 150 ms to import, and only for pages.
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(html, "html.parser")
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for element in soup.find_all(NOISE):
        element.decompose()
    for link in soup.find_all("a", href=True):
        link["href"] = urljoin(url, str(link["href"]))
    for picture in soup.find_all("img", src=True):
        picture["src"] = "" if str(picture["src"]).startswith("data:") else urljoin(url, str(picture["src"]))
    main = next((found for found in map(soup.select_one, MAIN) if found and len(found.get_text()) >= SHORTEST), None)
    part = main or soup.body or soup
    converter = MarkdownConverter(heading_style="ATX", bullets="-", code_language_callback=_language)
    try:
        text = _tidy(converter.convert_soup(part))
    except RecursionError:  # nested absurdly deep: its words alone
        text = _tidy(part.get_text("\n"))
    return text if not title or text.startswith(f"# {title}") else f"# {title}\n\n{text}"


def _language(element: object) -> str:
    """`language-py` on a code element, as most highlighters write it."""
    classes: list[str] = []
    for found in (element, getattr(element, "code", None)):
        classes += found.get("class") or [] if found is not None and hasattr(found, "get") else []
    return next((name.removeprefix("language-") for name in classes if name.startswith("language-")), "")


def _tidy(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    return "\n".join(kept).strip()
