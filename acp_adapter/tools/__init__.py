"""What a model can do: one file a family of tools."""
