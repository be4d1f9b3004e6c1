"""Structured logs: one line per event, with its context and without secrets.

Code logs with the standard library, `logging.getLogger("interlock.…")`. The context (`trace_id`, `instance`, `machine`,
`step`, `worker`) is set once with `about(…)` and added to every line logged inside.
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
# Characters that move a cursor, colour a terminal or start a line. Escaped, so that an event cannot fake another one.
_CONTROL = {n: f"\\x{n:02x}" for n in (*range(32), *range(127, 160))} | {0x2028: "\\u2028", 0x2029: "\\u2029"}
_CONTROL |= {9: " ", 10: "\\n", 13: "\\r"} | {
    n: f"\\u{n:04x}" for n in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


class Handler(logging.StreamHandler[TextIO]):
    """Our handler. Its type lets `configure` replace it instead of adding a second one."""


def configure(
    format: str = "console",
    level: str = "info",
    *,
    redact: Callable[[str], str] | None = None,
    stream: TextIO | None = None,
) -> None:
    """Configure the format and the level of this process's logs. Calling it again replaces the configuration."""
    if format not in {"console", "json"}:
        raise InterlockError(f"the log format {format!r} is unknown; use console or json")
    if level not in LEVELS:
        raise InterlockError(f"the log level {level!r} is unknown; use {', '.join(LEVELS)}")
    handler = Handler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                structlog.contextvars.merge_contextvars,
                _add_running,
                structlog.stdlib.add_logger_name,
                structlog.stdlib.add_log_level,
                structlog.stdlib.ExtraAdder(),
                _drop_formatted,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
            ],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _errors,
                _redactor(redact),
                _json if format == "json" else _console,
            ],
        )
    )
    root = logging.getLogger()
    for old in [h for h in root.handlers if isinstance(h, Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())


def about(**names: Any) -> AbstractContextManager[None]:
    """Add context to the lines logged inside: `trace_id`, `instance`, `machine`, `step`, `worker`, and so on."""
    return structlog.contextvars.bound_contextvars(**{k: v for k, v in names.items() if v is not None})


running: ContextVar[Callable[[], Mapping[str, Any]] | None] = ContextVar("running", default=None)
"""Builds the context of the running handler, called only when a line is logged: building it takes 10 µs."""


def _add_running(_: Any, __: str, event: EventDict) -> EventDict:
    context = running.get()
    return event if context is None else {**context(), **event}


def _drop_formatted(_: Any, __: str, event: EventDict) -> EventDict:
    """Remove what another handler's formatter stored on the record."""
    event.pop("message", None)
    event.pop("asctime", None)
    return event


def _errors(_: Any, __: str, event: EventDict) -> EventDict:
    """Render an exception as type, message and frames, never with the values of variables."""
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
    described: dict[str, Any] = {
        "type": type(error).__name__,
        "message": message,
        "where": [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} in {frame.name}" for frame in frames],
    }
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and depth > 0:
        described["cause"] = _described(cause, depth - 1)
    return described


def _redactor(redact: Callable[[str], str] | None) -> Processor:
    """Remove secrets, then control characters, because a secret may span lines."""

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
    text = f"{error['type']}: {error['message']}" + (f" at {where}" if where else "")
    return text + (f"; caused by {_in_words(error['cause'])}" if "cause" in error else "")
