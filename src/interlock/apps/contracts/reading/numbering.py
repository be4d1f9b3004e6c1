"""The paragraph numbers that Word displays but does not store in the text ("4.2", "(a)", "III.")."""

from __future__ import annotations

from typing import Any

from docx.oxml.ns import qn

_LETTERS = 26
_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
_LEVELS = 9


class Numbering:
    """Counts a document's lists along its paragraphs, in their order."""

    def __init__(self, levels: dict[str, dict[int, tuple[int, str, str]]], styles: dict[str, tuple[str, int]]) -> None:
        self._levels, self._styles = levels, styles
        self._counts: dict[str, list[int]] = {}

    @classmethod
    def of(cls, file: Any) -> Numbering:
        """The lists that a document defines; none where it has no such part."""
        root = next((r.target_part.element for r in file.part.rels.values() if r.reltype.endswith("/numbering")), None)
        levels: dict[str, dict[int, tuple[int, str, str]]] = {}
        if root is not None:
            kinds = {a.get(qn("w:abstractNumId")): _levels_of(a) for a in root.iterchildren(qn("w:abstractNum"))}
            for one in root.iterchildren(qn("w:num")):
                kind = one.find(qn("w:abstractNumId"))
                if kind is not None:
                    levels[one.get(qn("w:numId"))] = kinds.get(kind.get(qn("w:val")), {})
        styles: dict[str, tuple[str, int]] = {}
        for style in file.styles.element.iterchildren(qn("w:style")):
            found = _reference(style)
            if found is not None:
                styles[style.get(qn("w:styleId"))] = found
        return cls(levels, styles)

    def label(self, paragraph: Any) -> str:
        """The number of this paragraph, and the count goes on; empty for one without, and for a bullet."""
        found = _reference(paragraph)
        if found is None:
            style = paragraph.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
            found = self._styles.get(style.get(qn("w:val"))) if style is not None else None
        if found is None:
            return ""
        name, depth = found
        levels = self._levels.get(name, {})
        if depth not in levels:
            return ""
        counts = self._counts.setdefault(name, [0] * _LEVELS)
        counts[depth] = counts[depth] + 1 if counts[depth] else levels[depth][0]
        counts[depth + 1 :] = [0] * (_LEVELS - depth - 1)
        label = levels[depth][2]
        if levels[depth][1] in {"bullet", "none"}:
            return ""
        for level in range(depth + 1):
            start, form, _ = levels.get(level, (1, "decimal", ""))
            label = label.replace(f"%{level + 1}", _written(counts[level] or start, form))
        return label


def _levels_of(kind: Any) -> dict[int, tuple[int, str, str]]:
    found = {}
    for level in kind.iterchildren(qn("w:lvl")):
        depth = _number(level.get(qn("w:ilvl")))
        if 0 <= depth < _LEVELS:
            found[depth] = (
                _number(_value(level, "w:start"), 1),
                _value(level, "w:numFmt") or "decimal",
                _value(level, "w:lvlText") or "",
            )
    return found


def _reference(of: Any) -> tuple[str, int] | None:
    found = of.find(f"{qn('w:pPr')}/{qn('w:numPr')}")
    if found is None:
        return None
    name = _value(found, "w:numId")
    depth = _number(_value(found, "w:ilvl"), 0)
    return (name, depth) if name and 0 <= depth < _LEVELS else None


def _value(parent: Any, tag: str) -> str | None:
    child = parent.find(qn(tag))
    return None if child is None else child.get(qn("w:val"))


def _number(text: str | None, otherwise: int = -1) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 7 else otherwise


def _written(number: int, form: str) -> str:
    if form in {"lowerLetter", "upperLetter"}:
        # After z comes aa, then bb.
        letters = chr(ord("a") + (number - 1) % _LETTERS) * min((number - 1) // _LETTERS + 1, 10)
        return letters if form == "lowerLetter" else letters.upper()
    if form in {"lowerRoman", "upperRoman"} and number < 4000:
        out = ""
        for value, sign in _ROMAN:
            while number >= value:
                out, number = out + sign, number - value
        return out if form == "lowerRoman" else out.upper()
    return f"{number:02d}" if form == "decimalZero" else str(number)
