"""Questions that the model asks in the conversation: each ends its turn, and the next prompt answers it.

A question is a message of the agent's own, after the results of the step that asked it. So it is stored, replayed,
searched and exported as all else that was said, and the call that asked it has its result at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import evolve

from acp_adapter.tools.ask_user import numbered
from acp_adapter.tools.port import Question
from acp_adapter.transcript import Message

_NUMBER = re.compile(r"#?(\d{1,2})[.):]?")


def message_of(questions: Sequence[Question]) -> Message:
    """What the agent says to ask them. `details["options"]` are the options, where a number means one of them."""
    options = list(questions[0].options) if len(questions) == 1 else []
    text = "\n\n".join(map(numbered, questions))
    return Message("assistant", text, finish_reason="stop", details={"options": options} if options else None)


def answering(prompt: Message, last: Message | None) -> Message:
    """The prompt after the message `last`: a number that chooses an option of it is sent with the option's words."""
    options = (last.details or {}).get("options") if last and last.role == "assistant" else None
    said = prompt.content.strip() if isinstance(prompt.content, str) else ""
    chosen = _NUMBER.fullmatch(said)
    if not options or not chosen or said in options or prompt.api_content is not None:
        return prompt
    number = int(chosen[1])
    return evolve(prompt, api_content=f"{number}. {options[number - 1]}") if 0 < number <= len(options) else prompt
