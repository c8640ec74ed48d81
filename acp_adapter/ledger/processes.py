"""Which process is which: the one place that asks the operating system, each in its own way."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import subprocess
import sys
from pathlib import Path


@functools.cache
def pid_space() -> str:
    """Where process ids mean what they mean here: this boot of this machine, and this container on it."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))  # noqa: PTH115  (not a path)
    return "|".join(parts)


def started(pid: int) -> str | None:
    """When that process began, as the system writes it; "" where it can't be told; None for no such process."""
    ask = {"linux": _started_linux, "win32": _started_windows}.get(sys.platform, _started_posix)
    return ask(pid)


def _started_linux(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[19]


def _started_posix(pid: int) -> str | None:
    try:
        told = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=5,
            env={"PATH": "/bin:/usr/bin", "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout.strip() or None


def _started_windows(pid: int) -> str | None:
    import ctypes  # Windows only

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    handle = kernel.OpenProcess(0x1000, False, pid)
    if not handle:
        return None
    try:
        times = [ctypes.c_uint64() for _ in range(4)]
        if not kernel.GetProcessTimes(handle, *(ctypes.byref(time) for time in times)):
            return ""
        return None if times[1].value else str(times[0].value)
    finally:
        kernel.CloseHandle(handle)
