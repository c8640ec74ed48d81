"""Sizes as people read them."""

from __future__ import annotations


def size(count: int) -> str:
    """Bytes in decimal units, as disks are sold."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"
