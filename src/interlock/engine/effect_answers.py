"""Makes the answer to an effect storable. The effect was delivered, so no answer may cause an error."""

from __future__ import annotations

from typing import Any

from interlock.engine.text import canonical, fitting, shortened

LONGEST = 2000
"""Characters that are stored of an answer that is not JSON."""
MARK = "not_kept_as_json"
"""The field that marks such an answer, with the reason. The fields `type` and `text` describe it."""


def storable(answer: Any) -> Any:
    """The answer, if it can be stored as JSON; otherwise a description of it, marked as such."""
    if answer is None:
        return None
    try:
        fitting(canonical(answer, "it"), "it")
    except Exception as error:  # objects of other libraries may raise anything
        return _description(answer, _message(error))
    return answer


def _description(answer: Any, why: str) -> dict[str, str]:
    kind = type(answer)
    return {MARK: shortened(why, 200), "type": f"{kind.__module__}.{kind.__qualname__}", "text": _text(answer)}


def _message(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def _text(answer: Any) -> str:
    try:
        return shortened(repr(answer[:LONGEST] if isinstance(answer, str | bytes) else answer), LONGEST)
    except Exception:
        return "(it could not be read)"
