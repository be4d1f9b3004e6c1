"""Logs: one line an event, for people or for machines, with what it is about and without secrets.

Code logs with the standard library, `logging.getLogger("interlock.…")`. What it is about (`trace_id`, `instance`,
`machine`, `step`, `worker`) is said once, with `about(…)`, and stands in every line that is logged inside.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor

from interlock.machine import InterlockError

LEVELS = ("debug", "info", "warning", "error")
FRAMES = 20
# Everything that moves a cursor, colours a terminal or begins a line: an event must not be able to fake another one.
_CONTROL = {n: f"\\x{n:02x}" for n in (*range(32), *range(127, 160))} | {0x2028: "\\u2028", 0x2029: "\\u2029"}
_CONTROL |= {9: " ", 10: "\\n", 13: "\\r"} | {
    n: f"\\u{n:04x}" for n in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


class _Ours(logging.StreamHandler[TextIO]):
    """Known by its type, so that it is replaced and not doubled."""


def configure(
    format: str = "console",
    level: str = "info",
    *,
    redact: Callable[[str], str] | None = None,
    stream: TextIO | None = None,
) -> None:
    """Let the process log in this format from this level on; calling it again changes it."""
    if format not in {"console", "json"}:
        raise InterlockError(f"the log format {format!r} is unknown; use console or json")
    if level not in LEVELS:
        raise InterlockError(f"the log level {level!r} is unknown; use {', '.join(LEVELS)}")
    handler = _Ours(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                structlog.contextvars.merge_contextvars,
                _inside,
                structlog.stdlib.add_logger_name,
                structlog.stdlib.add_log_level,
                structlog.stdlib.ExtraAdder(),
                _left_by_others,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
            ],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _errors,
                _cleaning(redact),
                _json if format == "json" else _console,
            ],
        )
    )
    root = logging.getLogger()
    for old in [h for h in root.handlers if isinstance(h, _Ours)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())


def about(**names: Any) -> AbstractContextManager[None]:
    """What the lines logged inside are about: `trace_id`, `instance`, `machine`, `step`, `worker`, and so on."""
    return structlog.contextvars.bound_contextvars(**{k: v for k, v in names.items() if v is not None})


running: ContextVar[Callable[[], Mapping[str, Any]] | None] = ContextVar("running", default=None)
"""What runs here, told when a line is logged: most handlers log none, and to put it into words takes 10 µs."""


def _inside(_: Any, __: str, event: EventDict) -> EventDict:
    told = running.get()
    return event if told is None else {**told(), **event}


def _left_by_others(_: Any, __: str, event: EventDict) -> EventDict:
    """What another handler's formatter has put on the record is no news."""
    event.pop("message", None)
    event.pop("asctime", None)
    return event


def _errors(_: Any, __: str, event: EventDict) -> EventDict:
    """An exception as its type, its message and where it was raised; never with the values of variables."""
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["error"] = _described(error)
    return event


def _described(error: BaseException, depth: int = 3) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    try:
        message = str(error)
    except Exception:
        message = "(its message could not be read)"
    told: dict[str, Any] = {
        "type": type(error).__name__,
        "message": message,
        "where": [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} in {frame.name}" for frame in frames],
    }
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and depth > 0:
        told["cause"] = _described(cause, depth - 1)
    return told


def _cleaning(redact: Callable[[str], str] | None) -> Processor:
    """Secrets out, then control characters: what is hidden may span lines."""

    def clean(value: Any) -> Any:
        match value:
            case bool() | int() | float() | None:
                return value
            case str():
                return (redact(value) if redact else value).translate(_CONTROL)
            case Mapping():
                return {str(clean(str(name))): clean(one) for name, one in value.items()}
            case list() | tuple() | set() | frozenset():
                return [clean(one) for one in value]
        return clean(str(value))

    return lambda _, __, event: {name: clean(value) for name, value in event.items()}


def _json(_: Any, __: str, event: EventDict) -> str:
    first = {name: event.pop(name) for name in ("timestamp", "level", "logger", "event") if name in event}
    return json.dumps({**first, **event}, ensure_ascii=False, default=str).encode("utf-8", "replace").decode()


def _console(_: Any, __: str, event: EventDict) -> str:
    when, level, logger, what = (event.pop(name, "") for name in ("timestamp", "level", "logger", "event"))
    error = event.pop("error", None)
    rest = "".join(f" {name}={value}" for name, value in event.items())
    line = f"{str(when)[:23]}Z {level:<7} {logger}: {what}{rest}"
    if isinstance(error, Mapping):
        line += f" | {_in_words(error)}"
    return line.encode("utf-8", "replace").decode()


def _in_words(error: Mapping[str, Any]) -> str:
    where = " < ".join(reversed(error["where"]))
    told = f"{error['type']}: {error['message']}" + (f" at {where}" if where else "")
    return told + (f"; because of {_in_words(error['cause'])}" if "cause" in error else "")
