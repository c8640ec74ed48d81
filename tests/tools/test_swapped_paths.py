"""A file or folder that is swapped for a symlink between the permission and its use: nothing outside is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.errors import ToolError
from acp_adapter.tools import disk, ripgrep
from acp_adapter.tools.folder import Folder, held
from tests.tools.bench import Bench

pytestmark = pytest.mark.skipif(os.name != "posix", reason="symlinks, and folders held by a descriptor")

MOVED = "leads to another place now"
ROUNDS, ENOUGH = 20_000, 20
"""Tries at most, and times that the other program came in between after which it is enough."""
FLIP = """
import os, shutil, sys
here, aside, outside = sys.argv[1:]
print("ready", flush=True)
while True:
    os.rename(here, aside)
    try:
        os.symlink(outside, here)
        os.unlink(here)
    except OSError:  # the other made the folder anew meanwhile
        pass
    while os.path.exists(aside):
        shutil.rmtree(here, ignore_errors=True)
        try:
            os.rename(aside, here)
        except OSError:
            pass
"""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.txt").write_text("secret\n")
    return folder


@pytest.fixture
def inner(bench: Bench) -> Path:
    """A folder in the project, with a file that goes by the name of one outside."""
    folder = bench.cwd.resolve() / "inner"
    folder.mkdir()
    (folder / "a.txt").write_text("mine\n")
    return folder


def swap(path: Path, target: Path) -> None:
    path.rename(path.with_name("aside"))
    path.symlink_to(target)


USES: dict[str, Callable[[Path], object]] = {
    "read": lambda folder: disk.read(folder / "a.txt"),
    "written": lambda folder: disk.write(folder / "a.txt", b"evil\n"),
    "made": lambda folder: disk.write(folder / "new" / "deep" / "b.txt", b"evil\n"),
    "deleted": lambda folder: disk.delete(folder / "a.txt"),
    "listed": disk.listed,
}


@pytest.mark.parametrize("use", USES)
def test_a_folder_that_became_a_link_is_not_gone_through(inner: Path, outside: Path, use: str) -> None:
    swap(inner, outside)
    with pytest.raises(ToolError, match=MOVED):
        USES[use](inner)
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("a.txt", "secret\n")]


@pytest.mark.parametrize("use", ["read", "written", "deleted"])
def test_a_file_that_became_a_link_is_not_followed(inner: Path, outside: Path, use: str) -> None:
    swap(inner / "a.txt", outside / "a.txt")
    with pytest.raises(ToolError, match=MOVED):
        USES[use](inner)
    assert (outside / "a.txt").read_text() == "secret\n" and (inner / "a.txt").is_symlink()


def test_what_is_begun_is_done_in_the_folder_that_was_permitted(
    inner: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Folder.rename

    def swapped_before(folder: Folder, old: str, new: str) -> None:
        swap(inner, outside)
        rename(folder, old, new)

    monkeypatch.setattr(Folder, "rename", swapped_before)
    disk.write(inner / "a.txt", b"new\n")
    assert (inner.with_name("aside") / "a.txt").read_text() == "new\n"
    assert (outside / "a.txt").read_text() == "secret\n"


async def test_a_tool_that_was_permitted_one_place_works_in_no_other(
    bench: Bench, inner: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Swapped after the tool itself has looked where its path leads, and before it opens anything."""
    await bench.call("read_file", path="inner/a.txt")
    write = disk.write

    def swapped_before(path: Path, data: bytes) -> None:
        swap(inner, outside)
        write(path, data)

    monkeypatch.setattr(disk, "write", swapped_before)
    assert MOVED in await bench.refused("write_file", path="inner/a.txt", content="evil\n")
    assert (outside / "a.txt").read_text() == "secret\n"


@pytest.mark.parametrize("tool", ["grep", "glob"])
async def test_what_a_search_found_behind_a_link_that_came_meanwhile_is_not_told(
    bench: Bench, inner: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    search = getattr(ripgrep, "grep" if tool == "grep" else "files")

    async def swapped_before(*args: Any) -> None:
        swap(inner, outside)
        await search(*args)

    monkeypatch.setattr(ripgrep, search.__name__, swapped_before)
    assert MOVED in await bench.refused(tool, path="inner", pattern="secret" if tool == "grep" else "*.txt")


def test_another_program_that_swaps_all_the_time_gains_nothing(inner: Path, outside: Path) -> None:
    argv = [sys.executable, "-c", FLIP, str(inner), str(inner.with_name("aside")), str(outside)]
    flipping = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert flipping.stdout
    flipping.stdout.readline()
    refused = 0
    try:
        for _ in range(ROUNDS):
            if refused >= ENOUGH:
                break
            try:
                found = disk.read(inner / "a.txt")
                assert found is None or found.text == "mine\n"
                disk.write(inner / "b.txt", b"evil\n")
            except ToolError:
                refused += 1
    finally:
        flipping.kill()
        flipping.wait()
        flipping.stdout.close()
    assert refused, "it never came in between: this shows nothing"
    assert [path.name for path in outside.iterdir()] == ["a.txt"]


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() == 0, reason="needs a folder that can't be listed")
def test_a_folder_that_may_be_entered_and_not_listed_is_no_hindrance(inner: Path) -> None:
    inner.parent.chmod(0o111)
    try:
        with held(inner) as folder:
            assert folder.status("a.txt")
    finally:
        inner.parent.chmod(0o700)


def test_where_folders_cant_be_held_a_link_is_refused_all_the_same(
    inner: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acp_adapter.tools.folder.HOLDS", False)
    disk.write(inner / "new" / "b.txt", b"b\n")
    assert disk.listed(inner) == ["a.txt", "new/"]
    read = disk.read(inner / "a.txt")
    assert read and read.text == "mine\n"
    swap(inner, outside)
    for use in USES.values():
        with pytest.raises(ToolError, match=MOVED):
            use(inner)
