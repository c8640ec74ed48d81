"""The ACP agent: one function for each method of the protocol (ACP v1, sections Initialization to Prompt Turn).

Handlers raise; `peer` alone turns what they raise into error responses.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from acp_adapter.acp import types
from acp_adapter.acp.client import EditorClient
from acp_adapter.acp.commands import panel, repertory
from acp_adapter.acp.commands.command import Asked, Named
from acp_adapter.acp.content import content_of
from acp_adapter.acp.converter import structure, unstructure
from acp_adapter.acp.handshake import METHOD_ID, negotiate
from acp_adapter.acp.listing import info_of
from acp_adapter.acp.options import checked_effort, checked_mode, checked_model, modes_of, options_of
from acp_adapter.acp.peer import Handler, Peer
from acp_adapter.acp.services import Services
from acp_adapter.acp.session import SessionState
from acp_adapter.acp.session_manager import SessionManager
from acp_adapter.acp.updates import Presents, updates_of
from acp_adapter.agent.calls import Emit
from acp_adapter.agent.events import Noticed, ToolCallChanged, ToolCallStarted, TurnEvent
from acp_adapter.agent.models import Models, Wanted
from acp_adapter.agent.projection import events_of, running_elsewhere
from acp_adapter.config import Config
from acp_adapter.errors import AcpAdapterError, AuthRequired, InvalidParams
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.worker import Ledger
from acp_adapter.own.finding import OwnAgents
from acp_adapter.own.turn import Agent, Factory
from acp_adapter.providers.secrets import redactor_of
from acp_adapter.tools.mcp.servers import McpServer
from acp_adapter.tools.recall import Recall
from acp_adapter.tools.session_search import SessionSearch
from acp_adapter.tools.toolbox import builtin_tools
from acp_adapter.transcript import ToolCall

REPLAY_BATCH = 200
"""Replayed events between two looks at the other sessions."""


def build(peer: Peer, client: dict[str, Any] | None, own: str | Agent | Factory | None = None) -> AcpAgent:
    """The agent behind `peer`. `client` is the params of an `initialize` that was already answered.

    `own` answers in the place of the built-in agent, or else the one that config.toml or the environment names.
    """
    config = Config.load()
    config.make_home()
    ledger = Ledger(config.ledger)
    tools = {**builtin_tools(), SessionSearch.name: SessionSearch(ledger), Recall.name: Recall(ledger)}
    commands = frozenset(panel.COMMANDS)
    given = own or config.agent
    agents = OwnAgents(given, redactor_of(config).text) if given else None
    services = Services(config, ledger, Models(config), tools, commands=commands, own=agents)
    return AcpAgent(peer, services, client)


class AcpAgent:
    """All state of one connection: the client's capabilities and its sessions."""

    def __init__(self, peer: Peer, services: Services, client: dict[str, Any] | None) -> None:
        self._peer = peer
        self._services = services
        self._capabilities = types.ClientCapabilities()
        self._presents = Presents()
        self._sessions = SessionManager(services, self._client_of, self._emit_of)
        self._logged_out = False
        self._background: set[asyncio.Task[None]] = set()
        if client is not None:
            self._meet(client)
        self.handlers: Mapping[str, Handler] = {
            types.INITIALIZE: self.initialize,
            types.AUTHENTICATE: self.authenticate,
            types.LOGOUT: self.logout,
            types.SESSION_NEW: self.new_session,
            types.SESSION_LOAD: self.load_session,
            types.SESSION_RESUME: self.resume_session,
            types.SESSION_FORK: self.fork_session,
            types.SESSION_LIST: self.list_sessions,
            types.SESSION_CLOSE: self.close_session,
            types.SESSION_DELETE: self.delete_session,
            types.SESSION_PROMPT: self.prompt,
            types.SESSION_CANCEL: self.cancel,
            types.SESSION_SET_MODE: self.set_mode,
            types.SESSION_SET_CONFIG_OPTION: self.set_config_option,
        }

    async def shutdown(self) -> None:
        """End every turn and child, store what is unsaved, close models and ledger."""
        for task in self._background:
            task.cancel()
        await self._sessions.end_all()
        await self._services.models.aclose()
        if self._services.own:
            self._services.own.author.close()
        await self._services.ledger.aclose()

    # ---- connection

    async def initialize(self, params: types.InitializeRequest) -> types.InitializeResponse:
        client = unstructure(params)
        self._meet(client)
        return structure(negotiate(client), types.InitializeResponse)

    async def authenticate(self, params: types.AuthenticateRequest) -> types.AuthenticateResponse:
        """Succeeds where a model can be reached now, or none is needed; setting one up needs a terminal."""
        if params.method_id != METHOD_ID:
            raise InvalidParams(f"There is no auth method {params.method_id!r}; there is {METHOD_ID!r}.")
        if not self._services.own:
            await self._services.models.get(Wanted(), on_retry=lambda error, delay: None)
        self._logged_out = False
        return types.AuthenticateResponse()

    async def logout(self, _: types.LogoutRequest) -> types.LogoutResponse:
        """New sessions need `authenticate` again. Keys stay where the user put them."""
        self._logged_out = True
        return types.LogoutResponse()

    # ---- sessions

    async def new_session(self, params: types.NewSessionRequest) -> types.NewSessionResponse:
        if self._logged_out:
            raise AuthRequired("You are logged out. Authenticate first.")
        servers = _servers(params)
        session = await self._sessions.new(params.cwd, params.additional_directories)
        await session.use_servers(servers)
        self._introduce(session)
        return types.NewSessionResponse(session.id, modes_of(session), self._options(session))

    async def load_session(self, params: types.LoadSessionRequest) -> types.LoadSessionResponse:
        servers = _servers(params)
        session = await self._sessions.open(params.session_id, params.cwd, params.additional_directories)
        await self._replay(session)
        await session.use_servers(servers)
        self._introduce(session)
        return types.LoadSessionResponse(modes_of(session), self._options(session))

    async def resume_session(self, params: types.ResumeSessionRequest) -> types.ResumeSessionResponse:
        servers = _servers(params)
        session = await self._sessions.open(params.session_id, params.cwd, params.additional_directories)
        await session.use_servers(servers)
        self._introduce(session)
        return types.ResumeSessionResponse(modes_of(session), self._options(session))

    async def fork_session(self, params: types.ForkSessionRequest) -> types.ForkSessionResponse:
        """At the head, or after the message that `_meta.messageId` names."""
        upto = (params.meta or {}).get("messageId")
        if upto is not None and not isinstance(upto, str):
            raise InvalidParams("_meta.messageId must be a string.")
        servers = _servers(params)
        session = await self._sessions.fork(params.session_id, params.cwd, params.additional_directories, upto)
        await session.use_servers(servers)
        self._introduce(session)
        return types.ForkSessionResponse(session.id, modes_of(session), self._options(session))

    async def list_sessions(self, params: types.ListSessionsRequest) -> types.ListSessionsResponse:
        if params.cwd is not None and not Path(params.cwd).is_absolute():
            raise InvalidParams(f"cwd must be an absolute path, not {params.cwd!r}.")
        page = await self._services.ledger(
            SessionDB.list_sessions, cwd=params.cwd, cursor=params.cursor, sources=self._services.config.sources
        )
        return types.ListSessionsResponse([info_of(listed) for listed in page.sessions], page.next_cursor)

    async def close_session(self, params: types.CloseSessionRequest) -> types.CloseSessionResponse:
        await self._sessions.close(params.session_id)
        return types.CloseSessionResponse()

    async def delete_session(self, params: types.DeleteSessionRequest) -> types.DeleteSessionResponse:
        await self._sessions.delete(params.session_id)
        return types.DeleteSessionResponse()

    # ---- turns

    async def prompt(self, params: types.PromptRequest) -> types.PromptResponse:
        content = content_of([unstructure(block) for block in params.prompt])
        session = await self._sessions.find(params.session_id)
        named = Named.of(content)
        command = panel.COMMANDS.get(named.name) if named else None
        if named and command:
            given = (named.argument, content, named.attached, session, self._sessions, self._services)
            return types.PromptResponse(await command.run(Asked(*given, panel.COMMANDS)))
        sent = await asyncio.to_thread(repertory.meaning, named, self._services, session.cwd) if named else None
        return types.PromptResponse(await session.prompt(content, sent))

    async def cancel(self, params: types.CancelNotification) -> None:
        if session := self._sessions.running(params.session_id):
            session.cancel()

    async def set_mode(self, params: types.SetSessionModeRequest) -> types.SetSessionModeResponse:
        session = await self._sessions.find(params.session_id)
        await session.set_mode(checked_mode(params.mode_id))
        self._tell_options(session)
        return types.SetSessionModeResponse()

    async def set_config_option(
        self, params: types.SetSessionConfigOptionRequest
    ) -> types.SetSessionConfigOptionResponse:
        session = await self._sessions.find(params.session_id)
        if params.config_id == "mode":
            await session.set_mode(checked_mode(params.value))
        elif params.config_id == "model":
            offered = await self._services.models.offered()
            await session.set_model(checked_model(params.value, session, offered))
        elif params.config_id == "effort":
            await session.chosen.set_effort(checked_effort(params.value, session))
        else:
            known = "'mode', 'model' and 'effort'"
            raise InvalidParams(f"There is no config option {params.config_id!r}; there are {known}.")
        return types.SetSessionConfigOptionResponse(self._options(session))

    # ---- what goes out

    def _meet(self, client: dict[str, Any]) -> None:
        self._capabilities = structure(client, types.InitializeRequest).client_capabilities
        self._presents = Presents.of(self._capabilities)

    def _client_of(self, session_id: str) -> EditorClient:
        return EditorClient(self._peer, session_id, self._capabilities)

    def _emit_of(self, session_id: str) -> Emit:
        def emit(event: TurnEvent) -> None:
            replaceable = isinstance(event, ToolCallChanged) and event.is_progress
            for update in updates_of(event, self._presents):
                self._update(session_id, update, replaceable=replaceable)

        return emit

    def _update(self, session_id: str, update: types.SessionUpdate, *, replaceable: bool = False) -> None:
        notification = types.SessionNotification(session_id, update)
        self._peer.notify(types.SESSION_UPDATE, notification, replaceable=replaceable)

    async def _replay(self, session: SessionState) -> None:
        """The whole conversation, as it was shown when it was live."""
        stored = await self._services.ledger(SessionDB.replay, session.id)
        held = await self._services.ledger(SessionDB.holder, session.id) is not None

        def still_open(call: ToolCall) -> ToolCallStarted | None:
            return session.agent.announced.get(call.id) or (running_elsewhere(call) if held else None)

        for at, event in enumerate(events_of(stored, still_open)):
            session.emit(event)
            if at % REPLAY_BATCH == REPLAY_BATCH - 1:
                await self._peer.drained()
        if session.agent.streaming and (partial := session.agent.streaming.partial()):
            for event in events_of([partial]):
                session.emit(event)
        for event in events_of(session.waiting):
            session.emit(event)

    def _introduce(self, session: SessionState) -> None:
        """What the client learns about a session after the response that made it known."""
        session.options_changed = lambda: self._tell_options(session)
        self._peer.after_response(lambda: self._tell_commands(session))

    def _tell_commands(self, session: SessionState) -> None:
        self._update(session.id, panel.advertised())
        if standing := session.standing():
            session.emit(standing)
        looking = asyncio.create_task(self._tell_what_is_found(session))
        self._background.add(looking)
        looking.add_done_callback(self._background.discard)

    async def _tell_what_is_found(self, session: SessionState) -> None:
        repertoire = await asyncio.to_thread(self._services.repertoire, session.cwd)
        if repertoire.pieces and self._sessions.running(session.id) is session:
            self._update(session.id, panel.advertised(repertoire))
        rules = self._services.rules(session.cwd).problem
        problems = [
            *self._services.problems,
            *await self._services.ledger.notices(),
            *([rules] if rules else []),
        ]
        session.greetings += [Noticed("warning", problem) for problem in problems]
        if not session.has_model:
            return
        known = list(self._services.models.known)
        found = await self._services.models.offered()
        if found != known and self._sessions.running(session.id) is session:
            self._tell_options(session)
        chosen = session.chosen.wanted.provider or (found[0].provider if found else None)
        if chosen == "local":
            with contextlib.suppress(AcpAdapterError):
                await self._services.models.warm(session.chosen.wanted)

    def _options(self, session: SessionState) -> Sequence[types.SessionConfigOption]:
        return options_of(session, self._services.models.known)

    def _tell_options(self, session: SessionState) -> None:
        self._update(session.id, types.ConfigOptionUpdate(self._options(session)))


def _servers(params: Any) -> list[McpServer]:
    """Raises InvalidParams for a transport that is not spoken here."""
    return [McpServer.of_client(unstructure(server)) for server in params.mcp_servers or ()]
