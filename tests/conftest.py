"""The lab fixture: every end-to-end test runs in it, and every one of them is refereed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.clients.lab import Lab
from tests.stub_model import StubModel

settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two for each core: a test waits for its processes half of the time."""
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what its clients last sent and received."""
    report = yield
    lab = getattr(item, "funcargs", {}).get("lab")
    if report.failed and isinstance(lab, Lab):
        report.sections += [(f"frames of {name}", story) for name, story in lab.stories()]
    return report


@pytest.fixture
def model() -> Iterator[StubModel]:
    """A strict model server on loopback without steps yet."""
    with StubModel() as stub:
        yield stub


@pytest.fixture
async def lab(tmp_path: Path, model: StubModel) -> AsyncIterator[Lab]:
    """A home, a project and a model to start agents on. Afterwards no rule may have been broken."""
    lab = Lab(tmp_path, model)
    yield lab
    faults = await asyncio.shield(lab.close())
    assert not faults, "broken rules:\n" + "\n".join(faults[:20])
