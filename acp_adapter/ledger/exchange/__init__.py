"""Sessions taken out of the ledger and brought back, row by row, with everything that stands in them."""
