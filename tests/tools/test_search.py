"""list_directory, glob and grep, each with ripgrep and with its stand-in."""

from __future__ import annotations

import asyncio
import os
import sysconfig
import time
from collections.abc import Iterator

import pytest

from acp_adapter.tools import ripgrep, search
from tests.tools.bench import Bench, living_children

POSIX = pytest.mark.skipif(os.name != "posix", reason="symlinks and names of bytes")


@pytest.fixture(params=["ripgrep", "stand-in"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Both ways to search must answer the same."""
    ripgrep.binary.cache_clear()
    if request.param == "stand-in":
        monkeypatch.setattr(ripgrep, "binary", lambda: None)
    elif ripgrep.binary() is None:
        pytest.skip("ripgrep is not installed")
    yield request.param


@pytest.fixture
def tree(bench: Bench) -> Bench:
    files = {
        "main.py": "import os\nTODO = 1\n",
        "src/app.py": "# todo: tidy\nclass App: pass\n",
        "src/app.test.ts": "expect(1)\n",
        "src/ui/view.tsx": "TODO\n",
        "docs/[id]/page.md": "TODO bracket\n",
        "build/out.py": "TODO ignored\n",
        "kept.log": "TODO kept\n",
        "other.log": "TODO ignored\n",
        ".env": "TODO hidden\n",
        ".github/ci.yml": "TODO ci\n",
        ".gitignore": "build/\n*.log\n!kept.log\n",
        "src/.gitignore": "*.tsx\n",
        ".git/config": "TODO git\n",
    }
    for name, content in files.items():
        path = bench.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return bench


async def test_a_folder_is_listed_with_what_each_entry_is(bench: Bench) -> None:
    (bench.cwd / "src").mkdir()
    (bench.cwd / "B.txt").touch()
    (bench.cwd / "a.txt").touch()
    (bench.cwd / ".hidden").touch()
    if os.name == "posix":
        (bench.cwd / "link").symlink_to("src")
        (bench.cwd / "two\nlines").touch()
        expected = ".hidden\na.txt\nB.txt\nlink -> src\nsrc/\ntwo\\nlines"
    else:
        expected = ".hidden\na.txt\nB.txt\nsrc/"
    assert await bench.text("list_directory", path=".") == expected


async def test_an_empty_a_missing_and_a_wrong_folder_are_told(bench: Bench) -> None:
    (bench.cwd / "empty").mkdir()
    (bench.cwd / "a.txt").touch()
    assert await bench.text("list_directory", path="empty") == "[The folder is empty.]"
    assert await bench.refused("list_directory", path="a.txt") == f"{bench.cwd / 'a.txt'} is a file. Use read_file."
    assert "can't be listed: No such file" in await bench.refused("list_directory", path="no")


async def test_a_long_folder_is_cut_and_the_rest_counted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "ENTRIES", 3)
    for n in range(5):
        (bench.cwd / f"{n}").touch()
    assert await bench.text("list_directory", path=".") == "0\n1\n2\n[2 more entries are left out. Use glob.]"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["main.py", "src/app.py"]),
        ("**/*.py", ["main.py", "src/app.py"]),
        ("src/*.py", ["src/app.py"]),
        ("src/**", ["src/app.py", "src/app.test.ts"]),
        ("**/app.*", ["src/app.py", "src/app.test.ts"]),
        ("s?c/*.{ts,py}", ["src/app.py", "src/app.test.ts"]),
        ("{main,src/app}.py", ["main.py", "src/app.py"]),
        ("*.log", ["kept.log"]),
        ("build/*.py", ["build/out.py"]),
        ("main.py", ["main.py"]),
        ("app.py", ["src/app.py"]),
        (".env*", [".env"]),
        (".github/**", [".github/ci.yml"]),
        ("**/.gitignore", [".gitignore", "src/.gitignore"]),
        ("docs/[[]id]/*.md", ["docs/[id]/page.md"]),
        ("[!m]*.py", ["src/app.py"]),
    ],
)
async def test_files_are_found_by_pattern(tree: Bench, engine: str, pattern: str, found: list[str]) -> None:
    assert (await tree.text("glob", pattern=pattern)).splitlines() == found


async def test_a_pattern_may_begin_with_its_own_folder(tree: Bench, engine: str) -> None:
    assert await tree.text("glob", pattern=f"{tree.cwd}/src/*.py") == "src/app.py"
    assert await tree.text("glob", pattern="*.py", path="src") == "src/app.py"
    assert await tree.text("glob", pattern="../project/*.py") == "main.py"
    intent = await tree.intent("glob", pattern="../*.py")
    assert list(intent.paths) == [tree.cwd.parent]


@pytest.mark.parametrize("pattern", ["", "/", "src/*/../../../x", "{" + "a,b}{" * 9 + "a,b}"])
async def test_a_pattern_without_sense_is_refused(tree: Bench, pattern: str) -> None:
    assert "pattern" in await tree.refused("glob", pattern=pattern)


async def test_no_file_and_no_folder_are_two_answers(tree: Bench, engine: str) -> None:
    assert (await tree.text("glob", pattern="*.rs")).startswith("[No file matches.")
    assert await tree.refused("glob", pattern="no/*.rs") == "There is no folder no."


async def test_too_many_files_are_cut_and_counted(tree: Bench, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FILES", 1)
    assert await tree.text("glob", pattern="*.py") == "main.py\n[1 more files are left out. Use a narrower pattern.]"


async def test_a_pattern_made_to_take_for_ever_does_not(tree: Bench) -> None:
    (tree.cwd / ("a" * 200)).touch()
    began = time.monotonic()
    assert "No file" in await tree.text("glob", pattern="*a" * 30 + "b")
    assert "No file" in await tree.text("glob", pattern="**/*/" * 30 + "b")
    assert time.monotonic() - began < 5


async def test_lines_are_found_with_their_places(tree: Bench, engine: str) -> None:
    result = await tree.call("grep", pattern="TODO")
    assert result.text.splitlines() == [
        "docs/[id]/page.md:1:TODO bracket",
        "kept.log:1:TODO kept",
        "main.py:2:TODO = 1",
    ]
    assert (result.locations[2].path, result.locations[2].line) == (str(tree.cwd / "main.py"), 2)


async def test_letter_case_can_be_ignored(tree: Bench, engine: str) -> None:
    found = await tree.text("grep", pattern="todo", ignore_case=True, path="src")
    assert found == "src/app.py:1:# todo: tidy"


async def test_one_file_and_a_hidden_folder_are_searched_where_named(tree: Bench, engine: str) -> None:
    assert await tree.text("grep", pattern="^class (\\w+)", path="src/app.py") == "src/app.py:2:class App: pass"
    assert await tree.text("grep", pattern="TODO", path=".github") == ".github/ci.yml:1:TODO ci"


async def test_a_pattern_that_looks_like_an_option_is_a_pattern(tree: Bench, engine: str) -> None:
    (tree.cwd / "options.txt").write_text("--files\n-v\n")
    assert await tree.text("grep", pattern="--files") == "options.txt:1:--files"
    assert await tree.text("grep", pattern="-v") == "options.txt:2:-v"


async def test_a_broken_pattern_is_told_with_its_fault(tree: Bench, engine: str) -> None:
    assert "regex parse error" in await tree.refused("grep", pattern="(unclosed")
    assert "pattern must be" in await tree.refused("grep", pattern="")


async def test_look_around_works(tree: Bench, engine: str) -> None:
    assert await tree.text("grep", pattern="TODO(?= =)") == "main.py:2:TODO = 1"


async def test_nothing_found_and_nowhere_to_look_are_two_answers(tree: Bench, engine: str) -> None:
    assert await tree.text("grep", pattern="no such line") == "[No line matches.]"
    assert await tree.refused("grep", pattern="x", path="no") == "There is no file or folder no."


async def test_matches_and_lines_are_bounded(bench: Bench, engine: str) -> None:
    (bench.cwd / "a.txt").write_text("x" * 5000 + "\n" + "x\n" * 100_000)
    lines = (await bench.text("grep", pattern="x")).splitlines()
    assert len(lines) == search.MATCHES + 1
    assert lines[-1] == "[There are more matches. Use a narrower pattern or path.]"
    assert max(map(len, lines)) < search.LINE + 20


async def test_binary_files_are_not_searched(bench: Bench, engine: str) -> None:
    (bench.cwd / "a.bin").write_bytes(b"\0\1\2needle\n")
    assert "needle\n" not in await bench.text("grep", pattern="needle")


@POSIX
async def test_links_out_of_the_project_are_not_followed(bench: Bench, engine: str) -> None:
    outside = bench.cwd.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret\n")
    (bench.cwd / "link").symlink_to(outside)
    (bench.cwd / "file").symlink_to(outside / "secret.txt")
    assert await bench.text("grep", pattern="secret") == "[No line matches.]"
    assert "No file" in await bench.text("glob", pattern="**/secret.txt")


@POSIX
async def test_any_file_name_is_found_and_shown_on_one_line(bench: Bench, engine: str) -> None:
    (bench.cwd / "new\nline.txt").write_text("needle\n")
    (bench.cwd / os.fsdecode(b"bad\xff.txt")).write_text("needle\n")
    (bench.cwd / "日本:7:x.txt").write_text("needle\n")
    names = {"new\\nline.txt", "bad?.txt", "日本:7:x.txt"}
    assert set((await bench.text("glob", pattern="*.txt")).splitlines()) == names
    assert set((await bench.text("grep", pattern="needle")).splitlines()) == {f"{name}:1:needle" for name in names}


async def test_the_users_ripgrep_configuration_changes_nothing(tree: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree.cwd / "rgrc").write_text("--files-with-matches\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tree.cwd / "rgrc"))
    assert "main.py:2:TODO = 1" in await tree.text("grep", pattern="TODO")


@POSIX
async def test_a_cancelled_search_ends_its_process(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = bench.cwd / "rg"
    slow.write_text("#!/bin/sh\nsleep 300\n")
    slow.chmod(0o755)
    monkeypatch.setattr(ripgrep, "binary", lambda: str(slow))
    task = asyncio.create_task(bench.call("grep", pattern="x"))
    while not any("sleep 300" in child for child in living_children()):
        await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not any("sleep 300" in child for child in living_children())


async def test_a_remark_about_a_binary_file_is_not_taken_for_a_name(bench: Bench, engine: str) -> None:
    (bench.cwd / "a.bin").write_bytes(b"needle\n" + b"x\n" * 200_000 + b"\0")
    (bench.cwd / "b.txt").write_text("needle\n")
    lines = (await bench.text("grep", pattern="needle")).splitlines()
    assert lines[-1] == "b.txt:1:needle"
    assert lines[:-1] in ([], ["a.bin:1:needle"])


@POSIX
def test_ripgrep_is_not_taken_from_a_relative_folder(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project could bring its own `rg`, and PATH may hold `.`"""
    (bench.cwd / "rg").write_text("#!/bin/sh\n")
    (bench.cwd / "rg").chmod(0o755)
    monkeypatch.chdir(bench.cwd)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(bench.cwd / "nowhere"))
    for path, found in ((f".{os.pathsep}", None), (str(bench.cwd), str(bench.cwd / "rg"))):
        monkeypatch.setenv("PATH", path)
        ripgrep.binary.cache_clear()
        assert ripgrep.binary() == found
    ripgrep.binary.cache_clear()
