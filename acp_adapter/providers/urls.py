"""Base URLs: without the credentials that they may hold, and as they may be shown."""

from __future__ import annotations

import base64
from urllib.parse import unquote, urlsplit

from acp_adapter.errors import InvalidParams

LOOPBACK = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}


def split_credentials(base_url: str) -> tuple[str, str | None]:
    """The URL without user name and password, and those as a Basic authorization, if there are any.

    Raises InvalidParams for what is no http or https URL, and for one with a query.
    """
    try:
        url = urlsplit(base_url.strip())
        usable = url.scheme in ("http", "https") and url.hostname and (url.port is None or url.port)
    except ValueError:
        usable = False
    if not usable or url.query or url.fragment:
        raise InvalidParams(
            f"{shown_url(base_url.rpartition('@')[2])!r} is not a base URL. "
            "It looks like https://api.example.com/v1, without a query."
        )
    basic = None
    if url.username is not None:
        pair = f"{unquote(url.username)}:{unquote(url.password or '')}"
        basic = "Basic " + base64.b64encode(pair.encode()).decode()
    return shown_url(base_url), basic


def shown_url(url: str) -> str:
    """A URL as it may be shown: without user name, password, query and a slash at the end."""
    bare = url.strip().partition("?")[0].partition("#")[0].rstrip("/")
    scheme, separator, rest = bare.rpartition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}{separator}{place.rpartition('@')[2]}{slash}{path}"
