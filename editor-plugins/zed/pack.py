"""Packs the Zed extension for a release: `python pack.py BASE_URL FOLDER`.

Into the folder go the two archives, to be put where BASE_URL leads, and the extension as it is published, with their
addresses and digests in its `extension.toml`. The same input gives the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
MANIFEST = (HERE / "extension.toml").read_text("utf-8")


def main(base_url: str, folder: Path) -> None:
    published = folder / "extension"
    published.mkdir(parents=True, exist_ok=True)
    archives = {"acp-adapter-zed-posix.tar.gz": posix(), "acp-adapter-zed-windows.zip": windows()}
    for name, data in archives.items():
        (folder / name).write_bytes(data)

    def where(line: re.Match[str]) -> str:
        digest = hashlib.sha256(archives[line["name"]]).hexdigest()
        return f'archive = "{base_url.rstrip("/")}/{line["name"]}"\nsha256 = "{digest}"'

    manifest = re.sub(r'^archive = "(?P<name>[^"]+)"$', where, MANIFEST, flags=re.MULTILINE)
    (published / "extension.toml").write_text(manifest, "utf-8", newline="\n")
    shutil.copy(HERE / "icon.svg", published)


def posix() -> bytes:
    data = launcher("acp-adapter")
    entry = tarfile.TarInfo("acp-adapter")
    entry.size, entry.mode = len(data), 0o755
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), mtime=0)


def windows() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        data = launcher("acp-adapter.cmd").replace(b"\n", b"\r\n")
        archive.writestr(zipfile.ZipInfo("acp-adapter.cmd"), data)
    return packed.getvalue()


def launcher(name: str) -> bytes:
    version = tomllib.loads(MANIFEST)["version"]
    text = (HERE / "launcher" / name).read_text("utf-8")
    return text.replace("@VERSION@", version).encode()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
