"""Any commented JSON, as hypothesis draws it: what it says, and one way to write that down."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

TABLE, NAME = "agent_servers", "acp-adapter"
NEWLINES = ("\n", "\r\n")

_KEYS = st.sampled_from([TABLE, "theme", "é“", 'a"b', "", "// no comment", "env", "a\\u0062"]) | st.text(max_size=4)
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_COMMENTS = ["/**/", "/* } */", "/*{\n,*/ ", '/* " */\n', "/*** a *//* b */", "//\n", " // “{” , }\n  ", "// /* \n"]
_GAPS = st.sampled_from(["", "", "", " ", "\n", "\n  ", "\t", '\n  // "a": 1,\n  ', " \n\n\t//, \n", *_COMMENTS])
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=8
)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, Any]:
    """A text and the object in it; the text may hold nothing but space and comments."""
    writer = _Writer(draw, draw(st.sampled_from(NEWLINES)))
    value = draw(st.dictionaries(_KEYS.filter(lambda key: key != TABLE), _VALUES, max_size=4))
    if draw(st.booleans()):
        table = draw(st.dictionaries(_KEYS.filter(lambda key: key != NAME), _VALUES, max_size=3))
        value = dict(draw(st.permutations([*value.items(), (TABLE, table)])))
    if not value and draw(st.booleans()):
        return writer.gap(), {}
    return writer.gap() + writer.written(value) + writer.gap(), value


class _Writer:
    def __init__(self, draw: st.DrawFn, newline: str) -> None:
        self._draw, self._newline = draw, newline

    def written(self, value: Any) -> str:
        if isinstance(value, dict):
            items = [
                self._string(key) + self.gap() + ":" + self.gap() + self.written(each) for key, each in value.items()
            ]
            return "{" + self._list(items) + "}"
        if isinstance(value, list):
            return "[" + self._list([self.written(each) for each in value]) + "]"
        return self._string(value) if isinstance(value, str) else json.dumps(value)

    def gap(self) -> str:
        """Space and comments, as they may stand between any two tokens."""
        return self._draw(_GAPS).replace("\n", self._newline)

    def _list(self, items: list[str]) -> str:
        text = ",".join(self.gap() + item + self.gap() for item in items)
        ends_with_comma = bool(items) and self._draw(st.booleans())
        return text + ("," if ends_with_comma else "") + self.gap()

    def _string(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self._draw(st.booleans()))
