"""SessionDB: everything that may be done with the ledger, each thing in one transaction.

Its methods stand by topic in the modules beside this one. What they do stands in the modules of `acp_adapter.ledger`,
as functions on a connection that is in a transaction.

    sessions   created, changed, listed, found by what a person types
    messages   appended, trimmed, read for the model and for the editor, counted
    tree       branches, continuations, undo, archive, deletion
    search     full text, single messages, the indexes
    files      what sessions changed
    leases     who runs a session; recovery after a crash
"""

from __future__ import annotations

from acp_adapter.ledger.db.access import reads as reads
from acp_adapter.ledger.db.access import takes_long as takes_long
from acp_adapter.ledger.db.files import Files
from acp_adapter.ledger.db.leases import Leases
from acp_adapter.ledger.db.messages import Messages
from acp_adapter.ledger.db.search import Search
from acp_adapter.ledger.db.sessions import Sessions
from acp_adapter.ledger.db.tree import Tree


class SessionDB(Sessions, Messages, Tree, Search, Files, Leases):
    """The ledger's file, open. For one thread at a time; `worker.Ledger` gives it a thread of its own.

    Every method is one transaction: what it says is on the disk when it returns, and nothing of it where it
    raises. All raise LedgerError (LedgerUnavailable names the cause), and SessionNotFound for an unknown id.
    A session id that was compacted away goes on working: what continues a conversation finds its newest node.
    `notices` are sentences for the user about what happened at opening. For care of the file see `care.Care`.
    """
