"""The ledger: one SQLite file with every session of every program, shared, searchable and append-only.

`db.SessionDB` is the synchronous door, `worker.Ledger` the asynchronous one. Only this package knows SQLite.
Facts about the file that other programs rely on are in `schema`; what an edge of the session tree means is in `tree`.
"""
