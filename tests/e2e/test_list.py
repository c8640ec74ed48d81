"""`session/list`: every stored session can be reached, newest first, by folder in any spelling, page by page."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import T


async def pages(client: RawClient, **params: Any) -> list[list[str]]:
    """The ids of every page, following the cursor."""
    found, cursor = [], None
    while True:
        more: dict[str, Any] = {"cursor": cursor} if cursor else {}
        result = await client.request("session/list", {**params, **more})
        found.append([row["sessionId"] for row in result["sessions"]])
        cursor = result.get("nextCursor")
        if not cursor:
            return found


async def test_every_session_is_on_exactly_one_page_newest_first(lab: Lab) -> None:
    client = await lab.start()
    made = [await client.new(lab.project) for _ in range(120)]
    found = await pages(client)
    assert len(found) > 1
    assert [session for page in found for session in page] == made[::-1]


async def test_a_prompt_moves_a_session_to_the_top(lab: Lab) -> None:
    lab.model.add(T("ok"))
    client = await lab.start()
    old, new = await client.new(lab.project), await client.new(lab.project)
    await client.prompt(old, "hi")
    assert await pages(client) == [[old, new]]


@pytest.mark.skipif(os.name != "posix", reason="the spellings are those of POSIX")
async def test_one_folder_under_any_spelling(lab: Lab) -> None:
    link = lab.folder / "link"
    link.symlink_to(lab.project)
    (lab.project / "sub").mkdir()
    spellings = [str(lab.project), f"{lab.project}/", str(link), f"{link}/./", f"{lab.project}/sub/.."]
    client = await lab.start()
    made = [await client.new(folder) for folder in spellings]
    elsewhere = await client.new(lab.project / "sub")
    for spelling in spellings:
        assert await pages(client, cwd=spelling) == [made[::-1]], spelling
    assert await pages(client, cwd=str(lab.project / "sub")) == [[elsewhere]]
    assert await pages(client, cwd="/nowhere") == [[]]


async def test_a_cursor_counts_only_for_the_list_that_it_came_from(lab: Lab) -> None:
    client = await lab.start()
    for _ in range(60):
        await client.new(lab.project)
    cursor = (await client.request("session/list", {}))["nextCursor"]
    error = await client.error_of("session/list", {"cwd": str(lab.project), "cursor": cursor})
    assert error.code == -32602
    error = await client.error_of("session/list", {"cursor": cursor[:-1] + "A" + "x"})
    assert error.code == -32602
    assert len((await client.request("session/list", {"cursor": cursor}))["sessions"]) == 10


async def test_sessions_that_come_and_go_between_two_pages_move_no_other(lab: Lab) -> None:
    client = await lab.start()
    made = [await client.new(lab.project) for _ in range(60)]
    first = await client.request("session/list", {})
    await client.new(lab.project)
    await client.request("session/delete", {"sessionId": made[-1]})
    second = await client.request("session/list", {"cursor": first["nextCursor"]})
    seen = [row["sessionId"] for row in first["sessions"] + second["sessions"]]
    assert seen == made[::-1]
