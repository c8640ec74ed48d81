"""The bench fixture: after each test no process may be left."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from acp_adapter.tools import background, processes
from tests.tools.bench import Bench, living_children


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    project = tmp_path / "project"
    project.mkdir()
    bench = Bench(project.resolve())
    yield bench
    await processes.end_all(bench.session_id)
    background.forget(bench.session_id)
    assert not living_children()
