"""What is kept of the answer to an effect: it was delivered, so no answer can make that a question."""

from __future__ import annotations

from typing import Any

from interlock.engine.text import canonical, fitting, shortened

LONGEST = 2000
"""Characters that are kept of an answer that is no JSON."""
MARK = "not_kept_as_json"
"""The field that says so, with the reason; `type` and `text` stand beside it."""


def storable(answer: Any) -> Any:
    """The answer, if every database and page can carry it as JSON; otherwise what is left of it, marked as such."""
    if answer is None:
        return None
    try:
        fitting(canonical(answer, "it"), "it")
    except Exception as error:  # the other side's objects may raise anything
        return _rest(answer, _said(error))
    return answer


def _rest(answer: Any, why: str) -> dict[str, str]:
    kind = type(answer)
    return {MARK: shortened(why, 200), "type": f"{kind.__module__}.{kind.__qualname__}", "text": _shown(answer)}


def _said(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def _shown(answer: Any) -> str:
    try:
        return shortened(repr(answer[:LONGEST] if isinstance(answer, str | bytes) else answer), LONGEST)
    except Exception:
        return "(it could not be read)"
