"""Ollama in its own form: `/api/chat`, where the size of the model's window can be said."""
