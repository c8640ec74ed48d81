"""The runtime: one turn of a model with its tools, and what it may do."""
