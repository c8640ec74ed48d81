"""update_plan: the model tells what it is going to do and how far it is."""

from __future__ import annotations

from typing import Any

from acp_adapter.errors import ToolError
from acp_adapter.tools.arguments import schema
from acp_adapter.tools.port import Intent, ToolContext, ToolResult

_STATUSES = {
    "pending": "pending",
    "todo": "pending",
    "in_progress": "in_progress",
    "doing": "in_progress",
    "completed": "completed",
    "complete": "completed",
    "done": "completed",
}
_PRIORITIES = ("high", "medium", "low")
_LONGEST = 100


class UpdatePlan:
    name = "update_plan"
    description = (
        "Show the user the plan for a task of several steps. Send the whole plan each time; keep one entry in_progress."
    )
    parameters = schema(
        ["entries"],
        entries={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                    "priority": {"type": "string", "enum": list(_PRIORITIES)},
                },
                "required": ["content"],
            },
        },
    )

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        return Intent("Update the plan", "think", "none")

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        raw = args["entries"]
        if len(raw) > _LONGEST:
            raise ToolError(f"The plan has {len(raw)} entries; {_LONGEST} are the most. Make the steps larger.")
        entries = [_entry(number, each) for number, each in enumerate(raw, 1)]
        ctx.plan(entries)
        done = sum(entry["status"] == "completed" for entry in entries)
        return ToolResult(f"The plan is shown: {len(entries)} entries, {done} completed.")


def _entry(number: int, raw: Any) -> dict[str, Any]:
    """One ACP PlanEntry. A bare string is a pending step."""
    given = {"content": raw} if isinstance(raw, str) else raw
    content = given.get("content") if isinstance(given, dict) else None
    if not isinstance(content, str) or not content.strip():
        raise ToolError(f"Entry {number} of the plan needs a content: what the step is, as text.")
    return {
        "content": content.strip()[:1000],
        "priority": _choice(number, "priority", given.get("priority") or "medium", {p: p for p in _PRIORITIES}),
        "status": _choice(number, "status", given.get("status") or "pending", _STATUSES),
    }


def _choice(number: int, what: str, value: Any, known: dict[str, str]) -> str:
    plain = str(value).strip().lower().replace("-", "_").replace(" ", "_")
    if plain not in known:
        names = ", ".join(dict.fromkeys(known.values()))
        raise ToolError(f"The {what} of entry {number} must be one of {names}, not {value!r}.")
    return known[plain]
