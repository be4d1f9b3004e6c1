"""A comparison as one self-contained HTML page: no script, font or picture; light and dark."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from interlock.apps.contracts.comparison.clauses import shortened
from interlock.apps.contracts.comparison.fields import named, shown
from interlock.apps.contracts.comparison.offers import money
from interlock.apps.contracts.comparison.result import AnyComparison, Evidence, Words

CONTEXT = 160
"""Characters of unchanged text that are shown on each side of a change."""


def page(comparison: AnyComparison) -> str:
    """Return the whole page; everything that comes from a document is escaped."""
    return _render(comparison, whole=True)


def fragment(comparison: AnyComparison) -> str:
    """Return what stands in the body, for a page that has its own frame; `style()` goes with it."""
    return _render(comparison, whole=False)


def style() -> str:
    """Return the style sheet of the page."""
    return (files(__package__) / "templates" / "comparison.css").read_text("utf-8")


def _render(comparison: AnyComparison, *, whole: bool) -> str:
    names = {document.key: document.name for document in comparison.documents}
    titles = {one.key: one.title for one in getattr(comparison, "instruments", ())}
    # The sheet is our own file, and a style element takes no escapes.
    css = Markup(style())  # noqa: S704
    return _template().render(c=comparison, names=names, titles=titles, css=css, whole=whole)


@lru_cache(maxsize=1)
def _template() -> Template:
    """Compiled once, which takes 35 ms; rendering takes 3 ms."""
    source = (files(__package__) / "templates" / "comparison.html").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"named": named, "shown": shown, "money": money, "shortened": shortened}
    environment.globals |= {"words": words, "pages": _pages, "counted": _counted}
    return environment.from_string(source)


def words(pieces: list[Words], *, cut: bool = True) -> Markup:
    """Return words with what was deleted and inserted marked; long equal runs are shortened to what is around."""
    out = Markup()
    last = len(pieces) - 1
    for index, piece in enumerate(pieces):
        if piece.op != "same":
            # The space before a word stays outside of the mark.
            text = piece.text.lstrip(" ")
            tag = Markup("<del>{}</del>") if piece.op == "deleted" else Markup("<ins>{}</ins>")
            out += piece.text[: len(piece.text) - len(text)] + tag.format(text)
        else:
            out += Markup("{}").format(_around(piece.text, index == 0, index == last) if cut else piece.text)
    return out


def _counted(name: str, count: int) -> str:
    """What a count is of: 2 fields amended, 1 field amended."""
    first, _, rest = name.partition("_")
    if count == 1 and first in {"amendments", "sections", "fields", "offers"}:
        first = first[:-1]
    return f"{first} {rest.replace('_', ' ')}".strip()


def _around(text: str, first: bool, last: bool) -> str:
    if len(text) <= 2 * CONTEXT:
        return text
    head = "" if first else text[:CONTEXT].rsplit(" ", 1)[0]
    tail = "" if last else text[-CONTEXT:].split(" ", 1)[-1]
    if first and last:
        return shortened(text, 2 * CONTEXT)
    return f"{head} … {tail}"


def _pages(places: list[Evidence]) -> str:
    numbers = list(dict.fromkeys(place.page for place in places))
    if not numbers:
        return ""
    return f"p. {numbers[0]}" if len(numbers) == 1 else f"pp. {numbers[0]}-{numbers[-1]}"
