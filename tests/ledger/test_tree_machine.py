"""Any sequence of new, append, trim, branch, compact, undo, delete, crash and reopen does what a plain model says."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from attrs import define, evolve, field, frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from acp_adapter.errors import InvalidParams, SessionNotFound
from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message, Part
from tests.ledger.conftest import answer, user
from tests.ledger.test_attachments import image, text


@frozen
class Said:
    """A message of the model. Its text is one word that no other has; some hold one of a few pictures too."""

    id: str
    word: str
    picture: int | None = None
    summary: bool = False
    role: str = "user"

    @property
    def content(self) -> str | list[Part]:
        return self.word if self.picture is None else [text(self.word), image(self.picture)]


@define
class Node:
    """What one node of a conversation holds: everything, what of it is not undone, and what was trimmed to what."""

    id: str
    said: list[Said] = field(factory=list)
    active: list[Said] = field(factory=list)
    sent: dict[str, str] = field(factory=dict)


@define
class Conversation:
    """A conversation as a person knows it: its nodes in order, the draft that is being said, where it branched off."""

    nodes: list[Node]
    parent: str | None = None
    fork_point: str | None = None
    draft: Said | None = None
    archived: bool = False

    @property
    def id(self) -> str:
        return self.nodes[0].id

    @property
    def tip(self) -> Node:
        return self.nodes[-1]

    def shown(self) -> list[Said]:
        return list(dict.fromkeys(said for node in self.nodes for said in node.active))


class TreeMachine(RuleBasedStateMachine):
    conversations = Bundle("conversations")

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ledger-tree-"))
        self.db = SessionDB.open(self.folder / "state.db")
        self.abandoned: list[SessionDB] = []
        self.known: dict[str, Conversation] = {}
        self.gone: set[str] = set()
        self.words: set[str] = set()
        self.count = 0

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def say(self) -> tuple[Said, Message]:
        word = self.name("word")
        self.words.add(word)
        message = user(word) if self.count % 2 else answer(word)
        said = Said(message.id, word, self.count % 2 if self.count % 5 == 0 else None, role=message.role)
        return said, evolve(message, content=said.content)

    @rule(target=conversations)
    def new(self) -> Conversation:
        conversation = Conversation([Node(self.name("session"))])
        self.db.create_session(conversation.id, model="m", model_config={}, cwd="/w")
        self.known[conversation.id] = conversation
        return conversation

    @rule(conversation=conversations, many=st.integers(1, 4))
    def append(self, conversation: Conversation, many: int) -> None:
        spoken = [self.say() for _ in range(many)]
        self.db.append(conversation.nodes[self.count % len(conversation.nodes)].id, [message for _, message in spoken])
        for said, _ in spoken:
            conversation.tip.said.append(said)
            conversation.tip.active.append(said)

    @rule(conversation=conversations, data=st.data())
    def trim(self, conversation: Conversation, data: st.DataObject) -> None:
        tip = conversation.tip
        if tip.active:
            chosen = data.draw(st.lists(st.sampled_from(tip.active), min_size=1, max_size=3, unique=True))
            short = {said.id: self.name("short") for said in chosen}
            known = self.db.conversation(conversation.id)
            self.db.trim(conversation.nodes[0].id, short)
            tip.sent |= short
            changed = self.db.conversation_if_changed(conversation.id, known)
            assert changed == self.db.conversation(conversation.id)

    @rule(conversation=conversations)
    def stream(self, conversation: Conversation) -> None:
        if conversation.draft is None:
            conversation.draft, message = self.say()
            self.db.save_draft(conversation.id, message)

    @rule(target=conversations, conversation=conversations, data=st.data())
    def branch(self, conversation: Conversation, data: st.DataObject) -> Conversation:
        reachable = [(node, said) for node in conversation.nodes for said in node.active]
        newest = {said.id: node for node, said in reachable}
        upto = data.draw(st.none() | st.sampled_from([said for _, said in reachable])) if reachable else None
        node = newest[upto.id] if upto else conversation.tip
        copied = node.active[: node.active.index(upto) + 1] if upto else list(node.active)
        begun = Node(self.name("branch"), list(copied), list(copied), dict(node.sent))
        branch = Conversation([begun], parent=conversation.id)
        branch.fork_point = copied[-1].id if copied else None
        self.db.branch(conversation.id, branch.id, upto_message_id=upto.id if upto else None)
        self.known[branch.id] = branch
        return branch

    @rule(conversation=conversations, tail=st.integers(0, 3))
    def compact(self, conversation: Conversation, tail: int) -> None:
        said, summary = self.say()
        said = evolve(said, summary=True)
        kept = conversation.tip.active[-tail:] if tail else []
        messages = self.db.conversation(conversation.id)
        node = Node(self.name("node"), [said, *kept], [said, *kept], dict(conversation.tip.sent))
        self.db.continue_compressed(conversation.id, node.id, summary, messages[len(messages) - len(kept) :])
        conversation.nodes.append(node)

    @rule(conversation=conversations, data=st.data())
    def undo(self, conversation: Conversation, data: st.DataObject) -> None:
        active = conversation.tip.active
        if not active:
            return
        said = data.draw(st.sampled_from(active))
        undone = active[active.index(said) :]
        if any(each.summary for each in undone):
            with pytest.raises(InvalidParams, match="compacted"):
                self.db.undo(conversation.id, said.id)
            return
        self.db.undo(conversation.id, said.id)
        for node in conversation.nodes:
            node.active = [each for each in node.active if each not in undone]
        if conversation.draft and conversation.draft.role == "assistant":
            conversation.draft = None

    @rule(conversation=conversations, archived=st.booleans())
    def archive(self, conversation: Conversation, archived: bool) -> None:
        self.db.archive(conversation.id, archived)
        conversation.archived = archived

    @rule(target=conversations, conversation=consumes(conversations))
    def delete(self, conversation: Conversation) -> object:
        self.db.delete_session(conversation.tip.id)
        del self.known[conversation.id]
        self.gone |= {node.id for node in conversation.nodes}
        return multiple()

    @rule()
    def reopen(self) -> None:
        self.db.close()
        self.db = SessionDB.open(self.folder / "state.db")

    @rule()
    def crash(self) -> None:
        """The process is gone without a word; the next one finds what it left, and closes what it had open."""
        self.abandoned.append(self.db)
        self.db = SessionDB.open(self.folder / "state.db")
        for conversation in self.known.values():
            recovered = self.db.recover(conversation.id)
            assert [message.id for message in recovered] == ([conversation.draft.id] if conversation.draft else [])
            if conversation.draft:
                conversation.tip.said.append(conversation.draft)
                conversation.tip.active.append(conversation.draft)
                conversation.draft = None

    @invariant()
    def the_list_shows_each_conversation_once(self) -> None:
        if not hasattr(self, "db"):
            return
        listed = self.db.list_sessions(limit=500).sessions
        assert sorted(entry.id for entry in listed) == sorted(c.id for c in self.known.values() if not c.archived)
        assert [e.session.last_active for e in listed] == sorted((e.session.last_active for e in listed), reverse=True)
        for entry in listed:
            conversation = self.known[entry.id]
            assert entry.session.id == conversation.tip.id
            assert entry.parent == (conversation.parent if conversation.parent in self.known else None)
            assert entry.fork_point == conversation.fork_point

    @invariant()
    def model_and_editor_see_what_they_should(self) -> None:
        for conversation in getattr(self, "known", {}).values():
            for node in conversation.nodes:
                sent = self.db.conversation(node.id)
                assert [m.content for m in sent] == [s.content for s in conversation.tip.active]
                assert [m.api_content for m in sent] == [conversation.tip.sent.get(m.id) for m in sent]
                assert self.db.conversation_if_changed(node.id, sent) is None
                assert [m.id for m in self.db.replay(node.id)] == [s.id for s in conversation.shown()]
                assert [m.id for m in self.db.messages(node.id)] == [s.id for s in node.active]
                assert self.db.session(node.id).message_count == len(node.said)

    @invariant()
    def each_picture_that_is_held_is_there_once(self) -> None:
        if not hasattr(self, "db"):
            return
        held = {said.picture for c in self.known.values() for node in c.nodes for said in node.said}
        assert Care(self.db).stats().attachments == len(held - {None})

    @invariant()
    def the_deleted_is_gone(self) -> None:
        for session in getattr(self, "gone", ()):
            with pytest.raises(SessionNotFound):
                self.db.session(session)

    def teardown(self) -> None:
        if not hasattr(self, "db"):
            return
        try:
            alive = {said.word for c in self.known.values() for node in c.nodes for said in node.active}
            for word in self.words:
                assert bool(self.db.search(word)) == (word in alive), word
            assert Care(self.db).verify() == []
        finally:
            for db in (*self.abandoned, self.db):
                db.close()
            shutil.rmtree(self.folder)


class TestTree(TreeMachine.TestCase):  # type: ignore[misc,valid-type]
    settings = settings(max_examples=25, stateful_step_count=25)
