"""The lab: a home folder, a project, a model, the agents that were started on them, and the referee over all."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.clients import law
from tests.clients.checks import Referee, aftermath
from tests.clients.editor import Editor
from tests.clients.fold import differences
from tests.clients.process import AgentProcess, clean_environment
from tests.clients.raw import RawClient, RpcError, WaitedInVain
from tests.stub_server import StubServer

AGENT = (sys.executable, "-m", "acp_adapter")
KEY = "sk-lab-5ecret-k3y"
"""The model's API key in every test: it may turn up nowhere."""
EXIT = 5.0
"""Seconds until an agent must be gone after the end of its input: 3 by the rule, and some for a busy machine."""


class Lab:
    """`project` is an empty folder to work in, `home` is $ACP_ADAPTER_HOME, not made yet."""

    def __init__(self, folder: Path, model: StubServer, agent: Sequence[str] = AGENT) -> None:
        self.folder, self.home, self.project = folder, folder / "home", folder / "project"
        self.project.mkdir()
        self.model = model
        self.agent = tuple(agent)
        self.marker = uuid.uuid4().hex
        self.referee = Referee(secrets=[KEY])
        self._clients: list[RawClient] = []
        self._records: list[Path] = []

    @property
    def environment(self) -> dict[str, str]:
        model = {"ACP_ADAPTER_MODEL": f"openai:{self.model.model}", "OPENAI_BASE_URL": self.model.base_url}
        return clean_environment(self.home, self.marker, OPENAI_API_KEY=KEY, **model)

    def configure(self, toml: str) -> None:
        """Write the home's config.toml."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        path = self.home / "config.toml"
        path.write_text(toml, "utf-8")
        path.chmod(0o600)

    def count(self, table: str) -> int:
        """How many rows the ledger has in a table."""
        return int(self.query(f"SELECT count(*) FROM {table}")[0][0])

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Look into the ledger with SQLite itself, without the program's own code."""
        with closing(sqlite3.connect(f"{(self.home / 'state.db').as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute(sql).fetchall()

    async def start(
        self, editor: Editor | None = None, *, initialize: bool = True, unread_stderr: bool = False, **env: str
    ) -> RawClient:
        """A new agent process on this home with a raw client; `env` adds to its environment."""
        name = f"agent {len(self._clients) + 1}"
        process = await AgentProcess.start(
            self.agent,
            {**self.environment, **env},
            self.folder,
            self.folder / f"{name}.stderr",
            unread_stderr,
        )
        client = RawClient(process, self.referee.connection(name), editor or Editor())
        self._clients.append(client)
        if initialize:
            await client.initialize()
        return client

    async def restart(self, client: RawClient, editor: Editor | None = None, **env: Any) -> RawClient:
        """SIGKILL if it still runs, then a new process on the same home. The editor offers the same as before."""
        if client.process.code is None:
            await client.kill()
        return await self.start(editor or Editor(offers=client.editor.offers), **env)

    def recorded(self) -> list[str]:
        """The command of an agent whose frames are recorded, for a client that starts it by itself."""
        self._records.append(self.folder / f"record {len(self._records) + 1}")
        return [sys.executable, str(Path(__file__).with_name("tee.py")), str(self._records[-1]), *self.agent]

    async def assert_replay_equals_live(self, client: RawClient, *sessions: str) -> None:
        """A load shows what this client saw live, item by item; by the same process if it still runs."""
        again = client if client.process.code is None else await self.start(Editor(offers=client.editor.offers))
        for session in sessions:
            live = list(client.live[session])
            found = differences(live, await again.load(session, self.project))
            assert not found, "the replay differs from what was shown live:\n" + "\n".join(found)

    def stories(self) -> Iterator[tuple[str, str]]:
        """Of each agent: its name, and the end of what went to and fro."""
        for number, client in enumerate(self._clients, 1):
            yield f"agent {number}", client.story()

    async def close(self) -> list[str]:
        """End everything in an orderly way; every breach of a rule in the whole test."""
        for client in self._clients:
            await self._end(client)
        for number, record in enumerate(self._records, 1):
            self._judge(record, f"recorded agent {number}")
        faults = list(self.referee.faults)
        faults += await asyncio.to_thread(self._left_behind)
        faults += await asyncio.to_thread(self._replayed_otherwise)
        return faults

    async def _end(self, client: RawClient) -> None:
        try:
            if client.process.code is None:
                await self._finish(client)
        finally:
            await client.close()

    async def _finish(self, client: RawClient) -> None:
        """Cancel what still runs; then every request is answered, and the agent goes with its input."""
        try:
            for asked in client.unanswered():
                if asked.method == "session/prompt":
                    await client.cancel(asked.session)
            await client.until(lambda: not client.unanswered(), "the answers that are still missing", 10)
            client.eof()
            if code := await client.ended(EXIT):
                self.referee.fault(f"the agent ended with code {code} after the end of its input")
        except (WaitedInVain, RpcError) as fault:
            self.referee.fault(str(fault))

    def _judge(self, record: Path, name: str) -> None:
        connection = self.referee.connection(name)
        for line in record.read_bytes().split(b"\n"):
            if line.startswith(b">> "):
                connection.sent(line[3:])
            elif line:
                connection.received(line[3:])
        for asked in connection.unanswered():
            self.referee.fault(f"{name}: {asked.method} was never answered")

    def _replayed_otherwise(self) -> list[str]:
        found = law.breaches(self.home / "state.db", self._clients)
        return [fault for fault in found if not self.referee.is_allowed(fault)]

    def _left_behind(self) -> list[str]:
        left = [f"still running: {process}" for process in aftermath.left_processes(self.marker, self.folder)]
        found = [*aftermath.ledger_faults(self.home), *aftermath.privacy_faults(self.home)]
        found += aftermath.secret_faults(self.home, KEY)
        for log in self.folder.glob("*.stderr"):
            found += aftermath.log_faults(log.read_text("utf-8", "replace"), KEY)
        found += [f"the model was asked badly: {asked.complaint}" for asked in self.model.requests if asked.complaint]
        return [*left, *(fault for fault in found if not self.referee.is_allowed(fault))]
