"""SessionManager: makes sessions, and finds them again in memory or in the ledger.

An id that only the ledger knows is restored on the way by load, resume, prompt or fork, with everything that can be
rebuilt; two requests for it at once get the same SessionState.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import evolve

from acp_adapter.acp.chosen_model import ChosenModel
from acp_adapter.acp.client import EditorClient
from acp_adapter.acp.services import Services
from acp_adapter.acp.session import SessionState
from acp_adapter.acp.titles import Title
from acp_adapter.agent.budget import Budget
from acp_adapter.agent.calls import Emit, Workspace
from acp_adapter.agent.events import Noticed
from acp_adapter.agent.history import LedgerHistory
from acp_adapter.agent.models import Wanted
from acp_adapter.agent.permissions import MODES, Mode
from acp_adapter.agent.repertoire import user_skill_folders
from acp_adapter.agent.room import Failed
from acp_adapter.errors import InvalidParams, SessionNotFound
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.sessions import SessionRow
from acp_adapter.own.turn import Agent
from acp_adapter.project_defaults import ProjectDefaults
from acp_adapter.providers.card import Effort
from acp_adapter.providers.own_models import EFFORTS
from acp_adapter.tools import processes
from acp_adapter.tools.mcp.session_servers import SessionServers
from acp_adapter.transcript import Transcript, new_id

ID_LIMIT = 200


class SessionManager:
    """All live sessions of one connection. Every method raises InvalidParams, SessionNotFound or LedgerError."""

    def __init__(
        self, services: Services, client_of: Callable[[str], EditorClient], emit_of: Callable[[str], Emit]
    ) -> None:
        self._services = services
        self._client_of = client_of
        self._emit_of = emit_of
        self._live: dict[str, SessionState] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}
        self._restoring: dict[str, asyncio.Task[SessionState]] = {}

    async def new(self, cwd: str, additional: Sequence[str]) -> SessionState:
        """A new session, in the ledger before its id is told to anyone."""
        folders = _folders(cwd, additional)
        own = await self._own()
        session_id = new_id()
        project = await self._project(folders[0])
        wanted = Wanted.of(project.model)
        config = {
            "cwd": str(folders[0]),
            "mode": project.mode or self._services.config.mode,
            "provider": wanted.provider,
            "effort": project.effort or self._services.config.effort,
            "additional_directories": [str(folder) for folder in folders[1:]],
        }
        row = await self._services.ledger(
            SessionDB.create_session,
            session_id,
            source="acp",
            model=wanted.model,
            model_config={name: value for name, value in config.items() if value is not None},
            system_prompt=await asyncio.to_thread(self._services.instructions, folders[0]),
            cwd=str(folders[0]),
        )
        transcript = Transcript(session_id, self._services.ledger)
        return self._enter(session_id, row, transcript, folders, project, own)

    async def find(self, session_id: str) -> SessionState:
        """The session as it is, restored from the ledger where this process does not have it."""
        if ending := self._ending.get(_checked(session_id)):
            await asyncio.shield(ending)
        if live := self._live.get(session_id):
            return live
        if session_id not in self._restoring:
            restoring = asyncio.create_task(self._restore(session_id))
            self._restoring[session_id] = restoring
            restoring.add_done_callback(lambda _: self._restoring.pop(session_id, None))
        return await asyncio.shield(self._restoring[session_id])

    async def open(self, session_id: str, cwd: str, additional: Sequence[str]) -> SessionState:
        """For load and resume: the session, moved to `cwd` and these roots if it was elsewhere, on record."""
        folders = _folders(cwd, additional)
        session = await self.find(session_id)
        if list(session.workspace.roots) != _resolved(folders):
            await session.move(folders, _resolved(folders))
        session.is_compared = False
        return session

    async def fork(
        self,
        session_id: str,
        cwd: str,
        additional: Sequence[str],
        upto_message_id: str | None,
    ) -> SessionState:
        """A branch of the session, at its head or after a message; the parent stays as it is."""
        _folders(cwd, additional)
        parent = await self.find(session_id)
        branch_id = new_id()
        await self._services.ledger(SessionDB.branch, parent.id, branch_id, upto_message_id=upto_message_id)
        return await self.open(branch_id, cwd, additional)

    async def close(self, session_id: str) -> None:
        """End the session's work and forget it in memory; the ledger keeps it."""
        await self._end(await self.find(session_id))

    async def delete(self, session_id: str) -> None:
        """End it and delete it from the ledger. An unknown id is a silent success, as ACP asks."""
        if session := self._live.get(session_id):
            await self._end(session)
        elif ending := self._ending.get(session_id):
            await asyncio.shield(ending)
        try:
            await self._services.ledger(SessionDB.delete_session, _checked(session_id))
        except SessionNotFound:
            return

    def running(self, session_id: str) -> SessionState | None:
        """The session if it is live here. Never restores: cancelling is for what runs."""
        return self._live.get(session_id)

    async def end_all(self) -> None:
        await asyncio.gather(*map(self._end, list(self._live.values())), *self._ending.values())

    async def _end(self, session: SessionState) -> None:
        """End a session that nobody can find any more meanwhile: whoever asks for it waits, and gets it anew."""
        if self._live.pop(session.id, None):
            self._ending[session.id] = asyncio.create_task(session.end())
            self._ending[session.id].add_done_callback(lambda _: self._ending.pop(session.id, None))
        if ending := self._ending.get(session.id):
            await asyncio.shield(ending)

    async def _restore(self, session_id: str) -> SessionState:
        ledger, own = self._services.ledger, await self._own()
        row = evolve(await ledger(SessionDB.current, session_id), title=await ledger(SessionDB.title, session_id))
        await ledger(SessionDB.recover, session_id)
        messages = await ledger(SessionDB.conversation, session_id)
        config = row.model_config
        cwd = Path(row.cwd or Path.home())
        folders = [cwd, *(Path(folder) for folder in config.get("additional_directories", ()))]
        transcript = Transcript(session_id, ledger, messages)
        cost = (await ledger(SessionDB.spent, session_id)).session_cost or None
        session = self._enter(session_id, row, transcript, folders, await self._project(cwd, new=False), own, cost)
        await session.use_servers(())
        return session

    async def _own(self) -> Agent | None:
        """An agent of the user's own, for one session; None where the built-in one answers. Raises AgentFailed."""
        return await self._services.own.make() if self._services.own else None

    async def _project(self, cwd: Path, *, new: bool = True) -> ProjectDefaults:
        """What the project asks for. A session that is there already keeps its own choices, so only budgets count."""
        found = await asyncio.to_thread(ProjectDefaults.of, cwd, self._services.config)
        return found if new else evolve(found, problems=())

    def _enter(
        self,
        session_id: str,
        row: SessionRow,
        transcript: Transcript,
        folders: Sequence[Path],
        project: ProjectDefaults,
        own: Agent | None,
        cost: float | None = None,
    ) -> SessionState:
        """`row` is where the conversation goes on; `session_id` is the id that the editor knows it by; `cost` is what
        it has cost so far, in US dollars, None where nobody knows."""
        client, emit = self._client_of(session_id), self._emit_of(session_id)
        wanted = Wanted(row.model_config.get("provider"), row.model, row.model_config.get("base_url"))
        workspace = self._workspace(session_id, folders[0], _resolved(folders), client)
        workspace.history = LedgerHistory(self._services.ledger, session_id, emit)
        session = SessionState(
            id=session_id,
            workspace=workspace,
            transcript=transcript,
            system_prompt=row.system_prompt or self._services.instructions(folders[0]),
            is_instructed=bool(row.system_prompt),
            client=client,
            services=self._services,
            emit=emit,
            chosen=ChosenModel(session_id, self._services, emit, wanted, _effort(row.model_config.get("effort"))),
            title=Title(session_id, self._services.ledger, emit, row.title),
            mode=_mode(row.model_config.get("mode")),
            cost=cost,
            budget=self._budget(session_id, workspace, project, emit),
            failed_summary=_failed(row.model_config.get("failed_summary")),
            greetings=[Noticed("warning", problem) for problem in project.problems],
            servers=SessionServers(folders[0], processes.of(session_id).mark),
            own=own,
        )
        self._live[session_id] = session
        return session

    def _budget(self, session_id: str, workspace: Workspace, project: ProjectDefaults, emit: Emit) -> Budget:
        services = self._services
        return Budget(
            project.lowered(services.config.budget),
            current=lambda: asyncio.to_thread(services.budgets, workspace.cwd),
            spent=lambda: services.ledger(SessionDB.spent, session_id),
            emit=emit,
        )

    def _workspace(self, session_id: str, cwd: Path, roots: list[Path], client: EditorClient) -> Workspace:
        outputs = Path(os.path.realpath(self._services.outputs(session_id)))
        redactor = self._services.redactor
        config = self._services.config
        skills = [Path(os.path.realpath(each)) for each in user_skill_folders(config.home, config.user_home)]
        readable = [outputs, *skills]
        return Workspace(session_id, cwd, roots, client, redactor=redactor, readable=readable, outputs=outputs)


def _checked(session_id: str) -> str:
    """A session id that the ledger may be asked for; nothing else was ever given out."""
    if not session_id or len(session_id) > ID_LIMIT:
        raise SessionNotFound(session_id)
    return session_id


def _folders(cwd: str, additional: Sequence[str]) -> list[Path]:
    """The session's folders as the editor names them. They need not exist: tools will say so."""
    for folder in (cwd, *additional):
        if not Path(folder).is_absolute():
            raise InvalidParams(f"{folder!r} is not an absolute path; cwd and additionalDirectories must be.")
    return [Path(folder) for folder in (cwd, *additional)]


def _resolved(folders: Sequence[Path]) -> list[Path]:
    return [folder.resolve() for folder in folders]


def _effort(stored: object) -> Effort | None:
    return next((effort for effort in EFFORTS if effort == stored), None)


def _failed(stored: object) -> Failed | None:
    match stored:
        case [str(model), str(message_id)]:
            return model, message_id
    return None


def _mode(stored: object) -> Mode:
    return next((mode for mode in MODES if mode == stored), "ask")
