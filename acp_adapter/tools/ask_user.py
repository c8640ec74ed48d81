"""ask_user: the model asks the user one question, and waits for the answer.

Where the editor has forms, the question is one, and its answer is the call's result. Elsewhere it is put to the user in
the conversation: it ends the turn, and the next prompt answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acp_adapter.errors import ToolError
from acp_adapter.tools.arguments import schema, text
from acp_adapter.tools.port import Answer, Intent, Question, ToolContext, ToolResult

LONGEST = 2000
"""Characters of a question or an option."""
MOST = 20
"""Options of one question."""

LATER = "The question is put to the user. Their next message answers it."


class AskUser:
    name = "ask_user"
    description = (
        "Ask the user one question when you can't go on without their decision, and only then. Offer options where "
        "there are some; the user may answer in other words all the same."
    )
    parameters = schema(
        ["question"],
        question=text("One question, with all that is needed to answer it."),
        options={"type": "array", "items": {"type": "string"}, "description": "Short answers to choose from."},
    )

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        question = _question(args)
        return Intent(f"Ask: {' '.join(question.text.split())[:200]}", "other", "none")

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        question = _question(args)
        if ctx.editor is None or not ctx.editor.can_ask:
            return ToolResult(LATER, asks=question)
        return ToolResult(_told(await ctx.editor.ask_user(ctx.call_id, question)))


def numbered(question: Question) -> str:
    """The question as Markdown for a person who answers in the next prompt."""
    if not question.options:
        return question.text
    options = "\n".join(f"{number}. {option}" for number, option in enumerate(question.options, 1))
    return f"{question.text}\n\n{options}\n\nAnswer with a number, or in your own words."


def _told(answer: Answer) -> str:
    if answer.action == "accept":
        return f"The user answered: {answer.text}"
    how = "declined to answer" if answer.action == "decline" else "dismissed the question without an answer"
    return f"The user {how}. Don't ask the same again: go on without it, or say what you need."


def _question(args: dict[str, Any]) -> Question:
    """Raises ToolError for a question that nobody could answer."""
    asked = args["question"].strip()
    if not asked or len(asked) > LONGEST:
        raise ToolError(f"The question must have 1 to {LONGEST} characters.")
    return Question(asked, _options(args.get("options") or ()))


def _options(given: Sequence[Any]) -> Sequence[str]:
    if len(given) > MOST:
        raise ToolError(f"There are {len(given)} options; {MOST} are the most.")
    for number, each in enumerate(given, 1):
        if not isinstance(each, str) or not each.strip() or len(each) > LONGEST:
            raise ToolError(f"Option {number} must be a text of 1 to {LONGEST} characters.")
    return list(dict.fromkeys(" ".join(each.split()) for each in given))
