"""Conversations as files for people and for training. The lossless form is the ledger's: `ledger/exchange/`."""
