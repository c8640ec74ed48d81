"""What the documentation says exists: files, names, commands, options, settings, modes and tools."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import fields

from acp_adapter.acp.commands.panel import COMMANDS as PROMPT_COMMANDS
from acp_adapter.agent.permissions import MODES
from acp_adapter.cli.editors import EDITORS
from acp_adapter.cli.editors.catalogue import plugin
from acp_adapter.cli.main import COMMANDS, parser
from acp_adapter.config import Config
from acp_adapter.providers.apis import APIS
from acp_adapter.providers.services import LOOPBACK_SERVERS, SERVICES
from acp_adapter.tools.toolbox import builtin_tools

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
ROOMS = "acp|agent|cli|ledger|providers|tools"

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def relative(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, *languages: str) -> Iterator[str]:
    for language, text in FENCE.findall(page.read_text("utf-8")):
        if language in languages:
            yield text


def spans(page: Path) -> list[str]:
    """The inline code of a page, its blocks left out."""
    return SPAN.findall(FENCE.sub("", page.read_text("utf-8")))


def all_pages(test: Any) -> Any:
    return pytest.mark.parametrize("page", PAGES, ids=map(relative, PAGES))(test)


@all_pages
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    for target in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        path, _, anchor = target.partition("#")
        if not path.startswith(("http://", "https://")):
            file = page.parent / path if path else page
            assert file.exists(), target
            assert not anchor or anchor in anchors(file), target


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


@all_pages
def test_files_of_the_project_that_are_named_exist(page: Path) -> None:
    for word in spans(page):
        if re.fullmatch(rf"({ROOMS})/[\w/]+\.py", word):
            assert (ROOT / "acp_adapter" / word).exists(), word
        elif re.fullmatch(r"(acp_adapter|tests|docs|editor-plugins)/[\w./-]*", word):
            assert (ROOT / word).exists(), word


@all_pages
def test_names_in_the_code_that_are_named_exist(page: Path) -> None:
    for word in spans(page):
        if re.fullmatch(rf"(acp_adapter|{ROOMS})(\.\w+)+(\(\))?", word) and not word.endswith((".py", ".toml", ".md")):
            assert resolves("acp_adapter." + word.removeprefix("acp_adapter.").removesuffix("()")), word


def resolves(dotted: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    names = dotted.split(".")
    for at in range(len(names), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(names[:at]))
        except ModuleNotFoundError:
            continue
        for name in names[at:]:
            annotations = getattr(found, "__annotations__", {})
            if not hasattr(found, name) and name not in annotations:
                return False
            found = getattr(found, name, None)
        return True
    return False


@all_pages
def test_commands_that_are_shown_can_be_typed(page: Path) -> None:
    texts = [*blocks(page, "sh"), *(span for span in spans(page) if span.startswith("acp-adapter "))]
    for text in texts:
        for line in re.split(r"\n|&&", text):
            typed(line)


def typed(line: str) -> None:
    words = shlex.split(re.split(r"\s[|>]\s(?!.*acp-adapter)", line.rpartition(" | ")[2])[0], comments=True)
    if words and Path(words[0]).name == "acp-adapter" and "NAME" not in words and "[PROMPT]" not in words:
        try:
            parser(words[1:]).parse_args(words[1:])
        except SystemExit as ended:
            assert ended.code == 0, f"`{line.strip()}` is wrong usage"


def test_a_command_that_can_not_be_typed_is_found() -> None:
    with pytest.raises(AssertionError, match="wrong usage"):
        typed("cat x | .venv/bin/acp-adapter sessions --trees")


def test_the_reference_has_every_command_and_option() -> None:
    text = (ROOT / "docs/reference/commands.md").read_text("utf-8")
    for name in COMMANDS:
        section = text.partition(f"## acp-adapter {name}\n")[2].partition("\n## ")[0]
        assert section, name
        for option in options(name):
            assert re.search(rf"{option}\b", section), f"{name} {option}"


def options(command: str) -> set[str]:
    top = parser([command])
    subparsers = next(action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    found: set[str] = set()
    left = [subparsers.choices[command]]
    while left:
        for action in left.pop()._actions:
            found.update(name for name in action.option_strings if name.startswith("--"))
            if isinstance(action, argparse._SubParsersAction):
                left.extend(action.choices.values())
    return found - {"--help"}


def test_the_reference_has_every_environment_variable_and_no_other() -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "acp_adapter").rglob("*.py"))
    used = set(re.findall(r"\bACP_ADAPTER_[A-Z_]+\b", source))
    text = (ROOT / "docs/reference/config.md").read_text("utf-8")
    assert set(re.findall(r"\bACP_ADAPTER_[A-Z_]+\b", text)) == used


def test_the_reference_has_every_command_of_the_prompt() -> None:
    section = (ROOT / "docs/reference/commands.md").read_text("utf-8").partition("## In the prompt")[2]
    assert re.findall(r"^\| `/(\w+)", section, re.MULTILINE) == list(PROMPT_COMMANDS)


def test_the_reference_has_every_setting() -> None:
    shown = tomllib.loads(next(blocks(ROOT / "docs/reference/config.md", "toml")))
    not_settings = {"home", "environ", "problems"}
    assert shown.keys() == {field.name for field in fields(Config)} - not_settings


def test_the_configuration_that_is_shown_is_read_without_a_problem(tmp_path: Path) -> None:
    for page in PAGES:
        for text in blocks(page, "toml"):
            tomllib.loads(text)
            if "[[" not in text:
                (tmp_path / "config.toml").write_text(text)
                config = Config.load({"ACP_ADAPTER_HOME": str(tmp_path)})
                assert not config.problems
                assert tomllib.loads(text).keys() <= {field.name for field in fields(Config)}


def test_the_reference_has_every_provider_with_its_keys() -> None:
    text = (ROOT / "docs/reference/config.md").read_text("utf-8")
    for name, service in SERVICES.items():
        assert f"| `{name}` | {', '.join(f'`{key}`' for key in service.keys)} |" in text
    assert all(f"`{name}`" in text for name in LOOPBACK_SERVERS)


def test_the_reference_has_every_api_that_a_server_may_speak() -> None:
    text = (ROOT / "docs/reference/config.md").read_text("utf-8")
    (line,) = re.findall(r"^api = .*", text, re.MULTILINE)
    assert all(f"`{api}`" in line for api in APIS)


def test_the_reference_has_every_permission_mode() -> None:
    text = (ROOT / "docs/reference/permissions.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+)`", text, re.MULTILINE)) == set(MODES)


def test_the_reference_has_every_tool_with_what_it_needs() -> None:
    text = (ROOT / "docs/reference/tools.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    listed = {name: set(SPAN.findall(needs)) for name, needs in rows}
    assert listed == {tool.name: set(tool.parameters["required"]) for tool in builtin_tools().values()}


@pytest.mark.parametrize("name", EDITORS)
def test_the_editors_settings_are_those_that_setup_prints(name: str) -> None:
    text = (ROOT / "docs/howto/connect-your-editor.md").read_text("utf-8")
    shown = [body.strip() for _, body in FENCE.findall(text)]
    printed = EDITORS[name].snippet(["acp-adapter"]).replace(plugin("").as_posix(), "/path/to")
    if printed.startswith("{"):
        assert json.loads(printed) in [json.loads(body) for body in shown if body.startswith("{")]
    else:
        assert printed in shown
