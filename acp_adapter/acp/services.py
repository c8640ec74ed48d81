"""What all sessions of one agent process share. Made once, when the connection begins."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from attrs import define, field

from acp_adapter.agent.models import Models
from acp_adapter.agent.repertoire import Repertoire
from acp_adapter.agent.rules_file import Rules
from acp_adapter.agent.system_prompt import system_prompt
from acp_adapter.config import Config
from acp_adapter.ledger.worker import Ledger
from acp_adapter.own.finding import OwnAgents
from acp_adapter.project_defaults import Limit, ProjectDefaults
from acp_adapter.providers import own_models
from acp_adapter.providers.secrets import redactor_of
from acp_adapter.redaction import Redactor
from acp_adapter.tools import background, processes
from acp_adapter.tools.mcp.servers import McpServer, configured
from acp_adapter.tools.port import Tool


@define(eq=False)
class Services:
    """`lease_beat` is in seconds: how often a running turn renews its hold on the session. `commands` are the names of
    the panel's own commands, `mcp_servers` those of config.toml, `problems` sentences about what is wrong with it.
    `own` makes the agents of sessions where the user has an agent of their own."""

    config: Config
    ledger: Ledger
    models: Models
    tools: Mapping[str, Tool]
    lease_beat: float = 5.0
    commands: frozenset[str] = frozenset()
    own: OwnAgents | None = None
    mcp_servers: list[McpServer] = field(init=False)
    problems: list[str] = field(init=False)
    redactor: Redactor = field(init=False)
    _rules: dict[Path, Rules] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.redactor = redactor_of(self.config)
        self.mcp_servers, problems = configured(self.config.mcp_servers)
        self.problems = [*self.config.problems, *own_models.problems(self.config), *problems]

    def rules(self, cwd: Path) -> Rules:
        """What was always allowed or rejected in the project at `cwd`; sessions there share it."""
        if cwd not in self._rules:
            self._rules[cwd] = Rules.load(self.config.home, cwd)
        return self._rules[cwd]

    def instructions(self, cwd: Path) -> str:
        """The system prompt of a new session in `cwd`, empty for an agent of the user's own, which has its own words.
        Reads files: not for the event loop."""
        return "" if self.own else system_prompt(cwd, self.repertoire(cwd).skills)

    def repertoire(self, cwd: Path) -> Repertoire:
        """Skills and custom prompts that hold in `cwd`, as they are now. Reads files: not for the event loop."""
        return Repertoire.of(cwd, self.config.home, self.config.user_home, self.commands)

    def budgets(self, cwd: Path) -> Mapping[str, Limit]:
        """What may be used in `cwd`, as config.toml and the project say now; a config.toml that became wrong lifts no
        limit. Reads files: not for the event loop."""
        now = Config.load({**self.config.environ, "ACP_ADAPTER_HOME": str(self.config.home)})
        own = self.config.budget if now.problems else now.budget
        return ProjectDefaults.of(cwd, self.config).lowered(own)

    async def end_children(self, session_id: str) -> None:
        """End what the session's commands left running in the background, and drop their output."""
        await processes.end_all(session_id)
        background.forget(session_id)
        await asyncio.to_thread(shutil.rmtree, self.outputs(session_id), ignore_errors=True)

    def outputs(self, session_id: str) -> Path:
        """Where the session's long outputs are kept as long as it lives."""
        return self.config.home / "outputs" / hashlib.sha256(session_id.encode()).hexdigest()[:16]
