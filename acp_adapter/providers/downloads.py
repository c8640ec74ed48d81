"""A file from the publisher's hub, in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx

from acp_adapter.providers.carriers import DownloadFailed

CHUNK = 1024 * 1024


def reachable(url: str, seconds: float) -> bool:
    """Whether the place answers, within `seconds` for the connection and as long again for the answer."""
    try:
        response = httpx.head(url, timeout=seconds, follow_redirects=True)
    except httpx.HTTPError:
        return False
    return response.is_success


def of_url(url: str, size: int, silence: float, progress: Callable[[int, int | None], None]) -> Iterator[bytes]:
    """The file's bytes. `silence` is in seconds. Raises DownloadFailed."""
    done = 0
    try:
        with httpx.stream("GET", url, timeout=silence, follow_redirects=True) as response:
            response.raise_for_status()
            for piece in response.iter_bytes(CHUNK):
                done += len(piece)
                progress(done, size)
                yield piece
    except httpx.HTTPError as fault:
        raise DownloadFailed(f"The download broke off after {done // 1_000_000:,} MB: {fault}. Try again.") from fault
