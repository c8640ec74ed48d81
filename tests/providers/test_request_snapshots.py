"""What each API is sent for each of the cases, word for word: `tests/providers/snapshots/<api>.json`.

A change of what is sent shows here as a difference to read. When it is meant, write the snapshots anew with

    python -m tests.providers.test_request_snapshots
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.providers.cases import CASES
from tests.providers.encoders import APIS

FOLDER = Path(__file__).with_name("snapshots")


def sent(api: str) -> dict[str, Any]:
    return {name: json.loads(APIS[api].encoder()(request)) for name, request in CASES.items()}


@pytest.mark.parametrize("api", APIS)
def test_what_is_sent_is_what_the_snapshot_shows(api: str) -> None:
    """The order of the fields too: it is what the beginnings of two requests have in common."""
    path = FOLDER / f"{api}.json"
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    now = sent(api)
    changed = [name for name in {**known, **now} if json.dumps(known.get(name)) != json.dumps(now.get(name))]
    assert not changed, f"{api}: other than before: {changed}. Meant? python -m tests.providers.test_request_snapshots"


def test_every_snapshot_is_of_an_api() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(APIS)


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.iterdir():
        if path.stem not in APIS:
            path.unlink()
    for api in APIS:
        text = json.dumps(sent(api), ensure_ascii=False, indent=1)
        (FOLDER / f"{api}.json").write_text(text + "\n", "utf-8")
        sys.stdout.write(f"{api}: {len(CASES)} cases\n")


if __name__ == "__main__":
    write()
