"""An AI agent in every editor's agent panel, over the Agent Client Protocol."""

__version__ = "0.1.0"
