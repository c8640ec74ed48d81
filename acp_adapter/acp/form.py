"""A question as a form (ACP v1, section Elicitation), and what comes back of it.

A question with options has a second field for an answer in other words, which goes before a choice.
"""

from __future__ import annotations

from acp_adapter.acp import types
from acp_adapter.errors import ClientError
from acp_adapter.tools.port import Answer, Question

ANSWER, OTHER = "answer", "other"


def of(question: Question) -> types.ElicitationSchema:
    """The form; everything that an answer needs is required."""
    if not question.options:
        return types.ElicitationSchema(
            properties={ANSWER: types.StringPropertySchema("Your answer")}, required=[ANSWER]
        )
    options = [types.EnumOption(option, option) for option in question.options]
    fields: dict[str, types.ElicitationPropertySchema] = {
        ANSWER: types.StringPropertySchema("Your answer", one_of=options),
        OTHER: types.StringPropertySchema("Or in your own words"),
    }
    return types.ElicitationSchema(properties=fields)


def answer(response: types.CreateElicitationResponse, question: Question) -> Answer:
    """What the user did. Raises ClientError for an answer that the form does not allow."""
    if isinstance(response, types.DeclinedElicitation):
        return Answer("decline")
    if isinstance(response, types.CancelledElicitation):
        return Answer("cancel")
    if not isinstance(response, types.AcceptedElicitation):
        raise ClientError("The editor answered the question with an action that is not in the protocol.")
    given = response.content or {}
    words, chosen = given.get(OTHER), given.get(ANSWER)
    if question.options and isinstance(words, str) and words.strip():
        return Answer("accept", words.strip())
    if not isinstance(chosen, str) or not chosen.strip():
        raise ClientError("The editor sent the form without an answer in it.")
    if question.options and chosen not in question.options:
        raise ClientError(f"The editor's answer {chosen[:80]!r} is none of the options.")
    return Answer("accept", chosen.strip())
