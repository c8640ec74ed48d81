"""What updates look like: the answer on stdout, everything about it on stderr."""

from __future__ import annotations

from typing import Any

import pytest

from acp_adapter.cli.permission import allow, keyed, reject
from acp_adapter.cli.screen import Screen, diff_lines

Capture = pytest.CaptureFixture[str]


def text(chunk: str, message: str = "m1", kind: str = "agent_message_chunk") -> dict[str, Any]:
    return {"sessionUpdate": kind, "messageId": message, "content": {"type": "text", "text": chunk}}


def shown(capture: Capture, *updates: dict[str, Any]) -> tuple[str, str]:
    screen = Screen()
    for update in updates:
        screen.show(update)
    screen.settle()
    captured = capture.readouterr()
    return captured.out, captured.err


def test_the_answer_alone_goes_to_stdout(capsys: Capture) -> None:
    out, err = shown(capsys, text("hm", "t1", "agent_thought_chunk"), text("Hello "), text("world"))
    assert out == "Hello world\n"
    assert err == "hm\n"


def test_a_file_gets_the_models_own_characters(capsys: Capture) -> None:
    assert shown(capsys, text("tab\there \x1b[1m[bold]:smile:"))[0] == "tab\there \x1b[1m[bold]:smile:\n"


def test_line_ends_inside_an_answer_stay_and_at_its_end_become_one(capsys: Capture) -> None:
    assert shown(capsys, text("one\n"), text("\ntwo\n"), text("\n\n"))[0] == "one\n\ntwo\n"


def test_a_tool_call_shows_its_title_once_and_its_output_at_the_end(capsys: Capture) -> None:
    output = {"type": "content", "content": {"type": "text", "text": "x = 1\n"}}
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Read a.py", "status": "pending"}
    change = {"sessionUpdate": "tool_call_update", "toolCallId": "c"}
    _, err = shown(
        capsys, call, change | {"status": "in_progress"}, change | {"status": "completed", "content": [output]}
    )
    assert err == "● Read a.py\n  │ x = 1\n"


def test_results_of_parallel_calls_name_the_call_they_belong_to(capsys: Capture) -> None:
    calls = [
        {"sessionUpdate": "tool_call", "toolCallId": i, "title": f"Run {i}", "status": "in_progress"} for i in "ab"
    ]
    output = {"type": "content", "content": {"type": "text", "text": "of a"}}
    end = {"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed", "content": [output]}
    _, err = shown(capsys, *calls, end)
    assert err == "● Run a\n● Run b\n● Run a\n  │ of a\n"


def test_a_diff_is_shown_when_proposed_and_not_again_when_done(capsys: Capture) -> None:
    diff = {"type": "diff", "path": "/p/a.py", "oldText": "a\nb\n", "newText": "a\nc\n"}
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Edit a.py", "content": [diff]}
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "content": [diff]}
    _, err = shown(capsys, call, done)
    assert err == "● Edit a.py\n  /p/a.py\n  @@ -1,2 +1,2 @@\n   a\n  -b\n  +c\n"


def test_a_failed_call_says_so(capsys: Capture) -> None:
    _, err = shown(
        capsys, {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Read b", "status": "failed", "content": []}
    )
    assert err.endswith("✗ failed\n")


def test_a_new_file_is_all_additions() -> None:
    assert [line for line, _ in diff_lines("", "a\nb\n")] == ["@@ -0,0 +1,2 @@", "+a", "+b"]


def test_a_plan_is_a_checklist(capsys: Capture) -> None:
    entries = [{"content": "Look", "status": "completed"}, {"content": "Mend", "status": "pending"}]
    assert shown(capsys, {"sessionUpdate": "plan", "entries": entries})[1] == "Plan\n  ✔ Look\n  · Mend\n"


def test_an_update_of_an_unknown_kind_is_left_out(capsys: Capture) -> None:
    assert shown(capsys, {"sessionUpdate": "hologram", "content": 1}, {}) == ("", "")


OPTIONS = [
    {"optionId": "1", "kind": "allow_once"},
    {"optionId": "2", "kind": "allow_always"},
    {"optionId": "3", "kind": "reject_once"},
    {"optionId": "4", "kind": "reject_always"},
    {"optionId": "5", "kind": "something_new"},
    {"optionId": "6", "kind": "allow_once"},
]


def test_options_get_their_kinds_keys_and_others_a_number() -> None:
    assert {key: option["optionId"] for key, option in keyed(OPTIONS).items()} == {
        "y": "1", "a": "2", "n": "3", "N": "4", "5": "5", "6": "6",
    }  # fmt: skip


def test_yes_allows_once_and_no_rejects_once() -> None:
    assert allow(OPTIONS) == {"outcome": "selected", "optionId": "1"}
    assert reject(OPTIONS) == {"outcome": "selected", "optionId": "3"}


def test_where_no_rejection_is_offered_the_answer_is_cancelled() -> None:
    assert reject(OPTIONS[:2]) == {"outcome": "cancelled"}
