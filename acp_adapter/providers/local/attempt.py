"""One constrained answer of the model: what of it is told to the user, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from acp_adapter.providers.chat.answer import ChatAnswer
from acp_adapter.providers.local import rules
from acp_adapter.providers.local.answer import StepReader
from acp_adapter.providers.local.record import Turn
from acp_adapter.providers.local.steps import SAY, Offer, Step
from acp_adapter.providers.port import Completed, FinishReason, TextDelta
from acp_adapter.transcript import Message, ToolCall, Usage, new_id


class Attempt:
    """Takes the chunks of the answer to `offer`; once they are all there, or it is `settled`, gives its `outcome`.

    Where the turn edited files, the account of what was really done comes before the model's words, and in place of
    them if nothing was done since.
    """

    def __init__(self, turn: Turn, offer: Offer) -> None:
        self.settled = False
        """Nothing more of the model's answer is needed."""
        self._turn = turn
        self._offer = offer
        self._answer = ChatAnswer()
        self._reader = StepReader()
        self._told: list[str] = []
        self._speaking = False

    def feed(self, chunk: dict[str, Any]) -> list[str]:
        """What to tell the user of what came so far. Raises BrokenStream for a chunk of another form."""
        pieces = [delta.text for delta in self._answer.feed(chunk) if isinstance(delta, TextDelta)]
        texts = [text for piece in pieces for text in self._tell(self._reader.feed(piece)) if text]
        self._told += texts
        return texts

    def outcome(self) -> Step | Offer | str:
        """A call to make; or what to offer the model instead, where it broke a rule; or last words for the user.

        Empty words mean that everything was said. Raises BrokenStream for an answer that is not whole.
        """
        if self._reader.tool == SAY:
            return self._afterword()
        try:
            step = Step.read(self._reader.raw)
        except ValueError:
            return f"The call of {self._reader.tool or 'a tool'} grew too long, so it was not made."
        if self._turn.repeats(step):
            return Offer()
        if self._turn.overwrites(step):
            return self._offer.without(step.tool)
        if step.tool == "run_command" and rules.changes_git(step.arguments["command"]):
            return self._preface() + rules.git_refusal(step.arguments["command"])
        return step

    def completed(self, outcome: Step | str) -> Completed:
        """The end of the answer, for the agent. Raises BrokenStream for an answer that is not whole."""
        finish, usage = self._end()
        if isinstance(outcome, Step):
            call = ToolCall(f"call_{new_id()}", outcome.tool, outcome.arguments_text()).raw()
            message = Message(role="assistant", tool_calls=[call], finish_reason="tool_calls")
            return Completed(message, "tool_calls", usage)
        text = "".join(self._told) + outcome
        return Completed(Message(role="assistant", content=text, finish_reason=finish), finish, usage)

    def _end(self) -> tuple[FinishReason, Usage | None]:
        if self.settled:
            return "stop", None
        whole = self._answer.completed(True)
        return whole.finish_reason, whole.usage

    def _tell(self, text: str) -> Iterator[str]:
        if self._reader.tool != SAY or self.settled:
            return
        if not self._speaking:
            self._speaking = True
            self.settled = self._turn.ends_with_edit
            yield self._preface()
        if not self.settled:
            yield text

    def _preface(self) -> str:
        account = self._turn.account()
        return account if self._turn.ends_with_edit or not account else f"{account}\n\n"

    def _afterword(self) -> str:
        if self._turn.changed or not rules.claims_change("".join(self._told)):
            return ""
        return f"\n\n{rules.NOTHING_CHANGED}"
