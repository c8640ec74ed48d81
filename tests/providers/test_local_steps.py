"""What the small model may do next: the schema, and the offer that it is made of."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from acp_adapter.providers.local.offering import files_in, folder_under, folders_in, offered
from acp_adapter.providers.local.record import Turn
from acp_adapter.providers.local.steps import ARGUMENTS, NAMES, Editable, Offer, Step, schema
from acp_adapter.tools.toolbox import builtin_tools
from tests.providers.talk import asked, called

EVERYTHING = frozenset(NAMES)


def allows(offer: Offer, tool: str, **arguments: Any) -> bool:
    return bool(jsonschema_rs.is_valid(schema(offer), {"tool": tool, "arguments": arguments}))


def tools_for(*messages: Any) -> frozenset[str]:
    return offered(builtin_tools(), Turn.of(messages)).tools


def test_every_offered_tool_exists_with_just_these_required_arguments() -> None:
    tools = builtin_tools()
    for name, arguments in ARGUMENTS.items():
        assert list(arguments) == tools[name].parameters["required"]
    assert set(NAMES) < set(tools)


def test_a_step_is_one_known_tool_with_its_arguments_and_nothing_else() -> None:
    offer = Offer(EVERYTHING)
    assert allows(offer, "search_text", pattern="x")
    assert allows(offer, "say", text="Hello")
    assert not allows(offer, "grep", pattern="x")
    assert not allows(offer, "search_text", pattern="x", path="src")
    assert not allows(offer, "read_file")
    assert not allows(offer, "say", text="")
    assert not allows(offer, "search_text", pattern="x" * 500)


def test_only_talking_is_left_of_an_empty_offer() -> None:
    assert allows(Offer(), "say", text="Hello")
    assert not allows(Offer(), "read_file", path="a")
    assert not allows(Offer(frozenset(["glob"]), silent=True), "say", text="Hello")


def test_an_edit_replaces_a_real_line_of_a_file_that_was_read() -> None:
    offer = Offer(frozenset(["edit_file"]), [Editable("a.ini", ["port = 1", "host = x"])])
    assert allows(offer, "edit_file", path="a.ini", old_text="port = 1", new_text="port = 2")
    assert not allows(offer, "edit_file", path="a.ini", old_text="port = 7", new_text="port = 2")
    assert not allows(offer, "edit_file", path="b.ini", old_text="port = 1", new_text="port = 2")
    assert not allows(Offer(EVERYTHING), "edit_file", path="a.ini", old_text="port = 1", new_text="x")


def test_the_same_offer_gives_the_same_bytes() -> None:
    one, other = Offer(frozenset(["glob", "grep", "read_file"])), Offer(frozenset(["read_file", "grep", "glob"]))
    assert json.dumps(schema(one)) == json.dumps(schema(other))


def test_a_step_is_read_back_as_it_was_written() -> None:
    step = Step("grep", {"pattern": 'say "ä"\n'})
    assert '"search_text"' in step.written()
    assert Step.read(step.written()) == step
    for broken in ('{"tool": "glob", "argum', "[]", "7", '{"tool": "glob"}'):
        with pytest.raises(ValueError):
            Step.read(broken)


def test_a_path_at_the_beginning_of_a_turn_is_one_that_the_user_named() -> None:
    offer = offered(builtin_tools(), Turn.of([asked("What does src/app.py do?")]))
    assert allows(offer, "read_file", path="src/app.py")
    assert not allows(offer, "read_file", path="config/settings.ini")
    assert "read_file" not in tools_for(asked("Who calls connect?"))
    assert "read_file" in tools_for(asked("Who calls connect?"), *called("grep", {"pattern": "connect"}, "db.py:1:…"))


@pytest.mark.parametrize(
    ("wish", "may_run"),
    [
        ("Read pyproject.toml and tell me the project's name", False),
        ("How many lines does pyproject.toml have?", True),
        ("Read pyproject.toml and run its tests", True),
        ("Which commit changed pyproject.toml?", True),
        ("Lies pyproject.toml", True),
        ("Read setup.cfg", True),
    ],
)
def test_a_question_about_a_file_that_was_read_is_answered_without_a_command(wish: str, may_run: bool) -> None:
    reading = called("read_file", {"path": "./pyproject.toml"}, 'name = "x"\n')
    assert ("run_command" in tools_for(asked(wish), *reading)) is may_run


def test_a_file_is_written_only_for_a_request_that_may_want_one() -> None:
    assert "write_file" in tools_for(asked("Create hello.txt"))
    assert "write_file" in tools_for(asked("Schreibe hallo.txt"))
    assert "write_file" not in tools_for(asked("Who calls connect?"))


def test_a_request_to_change_a_file_goes_by_reading_and_editing_it() -> None:
    request = asked("In config.ini change the port to 9090.")
    first = offered(builtin_tools(), Turn.of([request]))
    assert (first.tools, first.reads, first.silent) == (frozenset(["read_file"]), ("config.ini",), True)
    reading = called("read_file", {"path": "config.ini"}, "host = x\nport = 8080\n")
    second = offered(builtin_tools(), Turn.of([request, *reading]))
    assert second.tools == frozenset(["edit_file"])
    assert [each.lines for each in second.editable] == [["port = 8080"]]
    edit = {"path": "config.ini", "old_text": "port = 8080", "new_text": "port = 9090"}
    third = offered(builtin_tools(), Turn.of([request, *reading, *called("edit_file", edit, "Edited config.ini.")]))
    assert not third.silent and not third.editable


def test_a_file_that_is_not_there_can_be_made_after_all() -> None:
    request = asked("Make settings.ini say debug = on")
    missing = called("read_file", {"path": "settings.ini"}, "There is no file settings.ini.", failed=True)
    assert "write_file" in tools_for(request, *missing)


def test_a_tool_that_the_agent_has_not_is_never_offered() -> None:
    offer = offered(["read_file", "update_plan", "search_the_moon"], Turn.of([asked("Change the port in a.ini")]))
    assert offer.tools == frozenset(["read_file"])


def test_names_of_files_and_folders_are_seen_in_a_sentence() -> None:
    assert files_in("Compare src/app.py with ./lib/a.b.ts, please.") == ("src/app.py", "./lib/a.b.ts")
    assert files_in("Version 1.5 of me@example.org, os.path.join(x)") == ()
    assert folders_in("What is in the docs folder?") == (".", "docs")
    assert folders_in("Which tests are in tests/unit?") == (".", "tests/unit")
    assert folders_in("all *.py files") == ()
    assert folder_under("Find all markdown files under docs.") == "docs"
    assert folder_under("Find all files in this project") is None
