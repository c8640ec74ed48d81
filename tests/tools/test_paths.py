"""The boundary: no spelling of a path leads out of the roots unseen."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_adapter.errors import ToolError
from acp_adapter.tools.paths import inside, printable, resolve, to_native
from tests.tools.bench import Bench

pytestmark = pytest.mark.skipif(os.name != "posix", reason="symlinks and POSIX paths")


@pytest.fixture
def maze(bench: Bench, tmp_path: Path) -> Bench:
    """A project with links that stay inside, lead out, and go round."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    (tmp_path / "project-two").mkdir()
    (bench.cwd / "a" / "b").mkdir(parents=True)
    (bench.cwd / "a" / "file").write_text("x")
    (bench.cwd / "in").symlink_to("a/b")
    (bench.cwd / "out").symlink_to(tmp_path / "outside")
    (bench.cwd / "a" / "up").symlink_to("../..")
    (bench.cwd / "loop").symlink_to("loop")
    return bench


parts = st.sampled_from(["..", ".", "a", "b", "in", "out", "up", "file", "secret", "outside", "project", "project-two"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(st.lists(parts, min_size=1, max_size=7), st.booleans())
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is asked through /proc")
def test_a_path_leads_where_the_kernel_goes(maze: Bench, names: list[str], absolute: bool) -> None:
    text = "/".join([str(maze.cwd), *names] if absolute else names)
    try:
        descriptor = os.open(maze.cwd / text, os.O_PATH)
    except OSError:
        return
    truth = Path(f"/proc/self/fd/{descriptor}").readlink()
    os.close(descriptor)
    assert resolve(text, maze.context()) == truth
    assert inside(truth, [maze.cwd]) == f"{truth}/".startswith(f"{maze.cwd}/")


@pytest.mark.parametrize(
    "text", ["../outside/secret", "out/secret", "out/new-file", "a/up/outside/secret", "~", "/etc/passwd", "~root/x"]
)
def test_ways_out_are_seen(maze: Bench, text: str) -> None:
    assert not inside(resolve(text, maze.context()), [maze.cwd])


@pytest.mark.parametrize("text", [".", "a/file", "in", "in/../file", "not/there/yet", "a/up/project/a"])
def test_ways_in_are_seen(maze: Bench, text: str) -> None:
    assert inside(resolve(text, maze.context()), [maze.cwd])


def test_a_neighbour_with_a_longer_name_is_outside(maze: Bench) -> None:
    assert not inside(resolve("../project-two", maze.context()), [maze.cwd])


def test_file_uris_are_understood(maze: Bench) -> None:
    (maze.cwd / "a b.py").touch()
    assert resolve(f"file://{maze.cwd}/a%20b.py#L3", maze.context()) == maze.cwd / "a b.py"


@pytest.mark.parametrize("text", ["", "  ", "a\0b", "C:\\Users\\x", "~nobody-of-that-name/x"])
def test_what_can_be_no_path_is_refused(bench: Bench, text: str) -> None:
    with pytest.raises(ToolError):
        resolve(text, bench.context())


async def test_a_link_to_itself_is_an_error_like_any_other(maze: Bench) -> None:
    assert "lead round in a circle" in await maze.refused("read_file", path="loop")


@pytest.mark.parametrize(
    ("text", "windows", "native"),
    [
        ("C:\\Users\\x", False, "/mnt/c/Users/x"),
        ("d:/a", False, "/mnt/d/a"),
        ("\\\\wsl.localhost\\Ubuntu\\home\\u", False, "/home/u"),
        ("\\\\wsl$\\Ubuntu", False, "/"),
        ("src/a", False, "src/a"),
        ("/mnt/c/Users/x", True, "C:\\Users\\x"),
        ("/d/a/b", True, "D:\\a\\b"),
        ("C:\\a", True, "C:\\a"),
        ("src\\a", True, "src\\a"),
    ],
)
def test_paths_of_windows_and_wsl_are_translated(text: str, windows: bool, native: str) -> None:
    assert to_native(text, windows=windows, wsl=True) == native


@pytest.mark.parametrize("text", ["\\\\server\\share\\x", "//server/share", "a.txt:stream", "C:\\a:b"])
def test_network_shares_and_streams_are_refused_on_windows(text: str) -> None:
    with pytest.raises(ToolError):
        to_native(text, windows=True, wsl=False)


@given(st.binary(min_size=1, max_size=30))
def test_any_name_can_be_printed_on_one_line(name: bytes) -> None:
    shown = printable(os.fsdecode(name))
    assert shown.isprintable()
    shown.encode()
