"""The protocol's JSON schemas, and the generator of `acp_adapter.acp.types`. Not part of the installed package."""
