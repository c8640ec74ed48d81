"""`acp-adapter sessions`: a stored tree of sessions as a list, as a picture, in full, and for programs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from acp_adapter.cli.columns import aligned, cells
from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message, Usage
from tests.cli.conftest import Run


@pytest.fixture
def db(home: Path) -> Iterator[SessionDB]:
    home.mkdir(mode=0o700)
    with closing(SessionDB.open(home / "state.db")) as opened:
        yield opened


def talk(db: SessionDB, session_id: str, cwd: Path, title: str, *said: str) -> None:
    db.create_session(session_id, model="m", model_config={}, cwd=str(cwd), title=title)
    db.append(session_id, [Message("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate(said)])


def test_a_fresh_machine_has_no_sessions_and_stays_as_it_is(cli: Run, home: Path) -> None:
    done = cli("sessions")
    assert done.returncode == 0
    assert "no sessions yet" in done.stdout
    assert not home.exists()


def test_the_list_is_of_this_folder_unless_all_are_asked_for(cli: Run, db: SessionDB, project: Path) -> None:
    talk(db, "here-1", project, "Mend the sums", "hi", "hello")
    talk(db, "there-1", project.parent, "Somewhere else", "hi")
    here, everywhere = cli("sessions").stdout, cli("sessions", "--all").stdout
    assert "Mend the sums" in here
    assert "Somewhere else" not in here
    assert "Somewhere else" in everywhere
    assert "~/project" in everywhere


def test_the_tree_draws_branches_below_their_parent(cli: Run, db: SessionDB, project: Path) -> None:
    talk(db, "trunk", project, "Trunk", "hi", "hello")
    for name, parent, later in (("left", "trunk", 20), ("right", "trunk", 10), ("leaf", "left", 30)):
        db.branch(parent, name)
        db.update_session(name, title=name.capitalize())
        db.append(name, [Message("user", "go on", timestamp=time.time() + later)])
    lines = [line.partition("  [")[0] for line in cli("sessions", "--tree").stdout.splitlines()]
    assert lines == ["Trunk", "├─ Left", "│  └─ Leaf", "└─ Right"]


def test_each_session_is_one_json_object_with_its_parent_and_times(cli: Run, db: SessionDB, project: Path) -> None:
    talk(db, "trunk", project, "Trunk", "hi", "hello")
    db.branch("trunk", "branch")
    found = {line["session_id"]: line for line in map(json.loads, cli("sessions", "--json").stdout.splitlines())}
    assert found["trunk"]["title"] == "Trunk"
    assert found["trunk"]["messages"] == 2
    assert found["trunk"]["branches"] == 1
    assert found["trunk"]["parent"] is None
    assert found["branch"]["parent"] == "trunk"
    assert found["branch"]["updated_at"].endswith("Z")


def test_what_a_session_cost_is_listed_where_it_is_known(cli: Run, db: SessionDB, project: Path) -> None:
    talk(db, "unpriced", project, "Unpriced", "hi", "hello")
    assert "COST" not in cli("sessions").stdout
    talk(db, "priced", project, "Priced", "hi")
    db.append("priced", [Message("assistant", "ok", finish_reason="stop")], Usage(10, 5, cost=1.25))
    db.continue_compressed("priced", "priced-2", Message("user", "summary"), [])
    db.charge("priced", Usage(3, 2, cost=0.25), task="title")
    lines = {line.split()[-1]: line for line in cli("sessions").stdout.splitlines()}
    assert "$1.50" in lines["#2" if "#2" in lines else "Priced"]
    assert "$" not in lines["Unpriced"]
    costs = {
        facts["session_id"]: facts["cost_usd"]
        for facts in map(json.loads, cli("sessions", "--json").stdout.splitlines())
    }
    assert costs == {"priced": 1.5, "unpriced": None}
    assert "· $1.5000" in cli("sessions", "show", "priced").stdout


def test_one_session_is_shown_by_the_start_of_its_id(cli: Run, db: SessionDB, project: Path) -> None:
    talk(db, "abcdef-1", project, "Colours", "Which colour?", "\x1b[31mRed\x1b[0m.")
    shown = cli("sessions", "show", "abc").stdout
    assert "Colours" in shown
    assert "› Which colour?\nRed.\n" in shown
    assert "acp-adapter chat --resume abcdef-1" in shown


def test_a_session_that_is_not_there_is_one_sentence(cli: Run, db: SessionDB) -> None:
    done = cli("sessions", "show", "nope")
    assert done.returncode == 1
    assert done.stderr == "acp-adapter: There is no session 'nope'.\n"


def test_what_happened_at_opening_is_told(cli: Run, home: Path) -> None:
    home.mkdir()
    (home / "state.db").write_bytes(b"this is not a database, " * 100)
    done = cli("sessions")
    assert "Traceback" not in done.stderr
    assert str(home / "state.db") in done.stderr


def test_columns_line_up_under_wide_characters() -> None:
    lines = list(aligned([["日本", "x"], ["a", "y"]]))
    assert lines == ["日本  x", "a     y"]
    assert cells("日本e\u0301") == 5
