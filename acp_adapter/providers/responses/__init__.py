"""Models behind OpenAI's Responses API."""
