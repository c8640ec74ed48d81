"""Models behind OpenAI's Chat Completions API, which most servers speak."""
