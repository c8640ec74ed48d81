"""How many tokens hosted models take in, by family: for names that are newer than the table."""

from __future__ import annotations

WINDOWS = {
    "claude-": 200_000,
    "claude-fable-": 1_000_000,
    "claude-opus-4-6": 1_000_000,
    "claude-opus-4-7": 1_000_000,
    "claude-opus-4-8": 1_000_000,
    "claude-opus-5": 1_000_000,
    "claude-sonnet-4-6": 1_000_000,
    "claude-sonnet-5": 1_000_000,
    "codestral-": 128_000,
    "deepseek-": 128_000,
    "deepseek-flash": 1_000_000,
    "deepseek-v4": 1_000_000,
    "devstral-": 256_000,
    "gemini-": 1_048_576,
    "gpt-3.5-turbo": 16_385,
    "gpt-4": 8_192,
    "gpt-4-turbo": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-5": 272_000,
    "gpt-6": 272_000,
    "gpt-oss-": 131_072,
    "grok-4": 256_000,
    "grok-4-fast": 2_000_000,
    "grok-4-1-fast": 2_000_000,
    "grok-4.3": 1_000_000,
    "grok-code-fast": 256_000,
    "kimi-": 128_000,
    "kimi-k2": 256_000,
    "mistral-": 128_000,
    "o1": 200_000,
    "o3": 200_000,
    "o4-mini": 200_000,
}
"""By the beginning of a model's name; the longest one that fits counts. A whole family's smallest is given."""


def context_window(model: str) -> int | None:
    """Tokens of the model's window, None where unknown. A vendor before the name (`openai/gpt-5`) is left out."""
    name = model.rpartition("/")[2].lower()
    fitting = [start for start in WINDOWS if name.startswith(start)]
    return WINDOWS[max(fitting, key=len)] if fitting else None
