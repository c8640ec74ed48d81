"""What a search query says: pure text, no SQL.

Words are joined by AND, a quoted phrase is a phrase, and every sign means itself: there is no operator to know,
and nothing that a person can type is a syntax error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from attrs import frozen

from acp_adapter.ledger.fulltext import WITHOUT_BLANKS

MOST_TERMS = 32
"""Terms that are looked up in an index; what a query has beyond them is compared with the text itself."""

_UNITS = r'"([^"]+)"|(\S+)'


@frozen
class Term:
    """One word or phrase, as it was typed and folded as texts are for comparison.

    `kind` says how it is found: `words` by the word index, `piece` (a script without blanks: any part of a text)
    by the trigram index, `signs` by neither. `literal`: the index finds more than is meant, so texts are compared.
    """

    text: str
    folded: str
    kind: str
    literal: bool


def terms(query: str) -> list[Term]:
    """The terms of a query, each once. An unbalanced quote means itself."""
    printable = "".join(" " if unicodedata.category(char) in ("Cc", "Cs") else char for char in query)
    units = [phrase or word for phrase, word in re.findall(_UNITS, unicodedata.normalize("NFC", printable))]
    return list({term.folded: term for term in map(_term, units) if term.folded}.values())


def fold(text: str) -> str:
    """The text in lower case without accents, character by character: positions stay the same."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def holds(text: str, term: Term) -> bool:
    """The text holds the term as it was typed, but for case, accents and kinds of blanks."""
    return _pattern(term).search(fold(text)) is not None


def snippet(text: str, found: Sequence[Term], length: int = 160) -> tuple[str, list[tuple[int, int]]]:
    """About `length` characters around the first hit, on one line, and where the hits are in it."""
    folded = fold(text)
    hits = sorted(match.span() for term in found for match in [_pattern(term).search(folded)] if match)
    first = hits[0][0] if hits else 0
    start = max(0, first - length // 3)
    end = min(len(text), start + length)
    shown = re.sub(r"\s", " ", text[start:end])
    before, after = "…" if start else "", "…" if end < len(text) else ""
    shift = len(before) - start
    return before + shown + after, [(a + shift, min(b, end) + shift) for a, b in hits if start <= a < end]


def _term(unit: str) -> Term:
    unit = unit.strip()
    signs = [char for char in unit if not _is_word(char) and not char.isspace()]
    kind = "piece" if re.search(WITHOUT_BLANKS, unit) else "words" if any(map(_is_word, unit)) else "signs"
    return Term(unit, fold(unit), kind, bool(signs) and kind != "piece")


def _is_word(char: str) -> bool:
    """As FTS5's unicode61 tells words from what is between them."""
    category = unicodedata.category(char)
    return category[0] in "LN" or category in ("Co", "Mn")


def _pattern(term: Term) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, term.folded.split())))


class _Folding(dict[int, str]):
    def __missing__(self, code: int) -> str:
        """Only accents of alphabets are taken off: what NFD takes from a kana or a Hangul makes it another one."""
        alphabet = code < 0x1100 or 0x1E00 <= code < 0x2000
        plain = unicodedata.normalize("NFD", chr(code))[0] if alphabet else chr(code)
        self[code] = plain.lower()[:1]
        return self[code]


_FOLDED = _Folding()
