"""The editors that can start this agent: what they read, where it lies, and how it is changed and changed back."""

from acp_adapter.cli.editors.catalogue import EDITORS, Editor, agent_command

__all__ = ["EDITORS", "Editor", "agent_command"]
