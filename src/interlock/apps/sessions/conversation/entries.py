"""Messages as people read them: words, thoughts, tool calls with their answers, and notes about what happened.

An agent may print anything, so each field is checked where it is read, and what is unknown is shown as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.agents.config import LineRules
from interlock.apps.sessions.agents.transcript import by_rule, number, objects, text
from interlock.apps.sessions.agents.values import Line
from interlock.apps.sessions.conversation import messages
from interlock.apps.sessions.conversation.messages import Message
from interlock.apps.sessions.conversation.visible import Shown, one_line, shown
from interlock.store import Micros

WORDS, THOUGHT, TOOL, NOTE, TROUBLE, UNKNOWN = "words", "thought", "tool", "note", "trouble", "unknown"
RUNNING, DONE, FAILED, DENIED = "running", "done", "failed", "denied"
WHOLE = 400_000
"""Characters of a long line that is read as a whole; of a longer one only the beginning is shown."""
LONG_LINES = 12
"""Long lines that are read as a whole for one page, the newest first."""
MOST_FIELDS = 12
SILENT = {"stream_event", "control_response", "keep_alive"}
"""Lines that repeat what others say."""
DENIALS = ("permission", "denied", "not allowed")
PREFERRED = ("command", "cmd", "path", "file_path", "pattern", "text", "query", "url", "description", "prompt")
"""Inputs that say in one line what a call does."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened."""

    key: str
    """The same for the same thing at each reader."""
    message_id: UUID
    seq: int
    at: Micros
    kind: str
    title: str = ""
    line: str = ""
    """What a tool call does, in one line."""
    body: Shown | None = None
    fields: Sequence[tuple[str, Shown]] = ()
    """The inputs of a tool call."""
    status: str = ""
    """Of a tool call: running, done, failed or denied."""
    answer: Shown | None = None
    answer_id: UUID | None = None
    """The message with the answer."""
    nested: bool = False
    """Whether a helper of the agent did it."""


class Reader:
    """Reads the lines of one prompt, in order. `rules` are those of an agent that has a format of its own."""

    def __init__(self, rules: LineRules | None = None) -> None:
        self._rules = rules
        self.found: list[Entry] = []
        self.changed: list[int] = []
        """Which entries the last line added or completed."""
        self._calls: dict[str, int] = {}
        self._same: dict[int, int] = {}

    def read(self, message: Message, line: str) -> list[Entry]:
        """Read a message with its text; the entries that it added or completed."""
        self.changed = []
        data = messages.parsed(line)
        if self._rules is not None and _ruled(self, message, line, data, self._rules):
            pass
        elif data is None:
            _unparsed(self, message, line)
        else:
            _parsed(self, message, data)
        return [self.found[at] for at in self.changed]

    def add(self, message: Message, kind: str, **more: Any) -> None:
        # The key depends on the message alone, so that a page that shows more lines keeps what was opened.
        n = self._same[message.seq] = self._same.get(message.seq, 0) + 1
        self.changed.append(len(self.found))
        key = f"{message.id.hex[-12:]}-{n}"
        self.found.append(Entry(key, message.id, message.seq, message.created_at, kind, **more))

    def begin_call(self, call: str) -> None:
        """The next entry is the call of a tool with this id."""
        if call:
            self._calls[call] = len(self.found)

    def call(self, call: str) -> Entry | None:
        at = self._calls.get(call)
        return self.found[at] if at is not None else None

    def complete(self, call: str, **more: Any) -> None:
        at = self._calls[call]
        self.found[at] = replace(self.found[at], **more)
        self.changed.append(at)


def entries(lines: Iterable[tuple[Message, str]], rules: LineRules | None = None) -> list[Entry]:
    """What the lines of one prompt say, in order. Each message comes with its text."""
    reader = Reader(rules)
    for message, line in lines:
        reader.read(message, line)
    return reader.found


def with_text(conn: sa.Connection, found: Sequence[Message]) -> list[tuple[Message, str]]:
    """Messages with their texts; long ones are read as a whole within limits."""
    left = LONG_LINES
    pairs = []
    for one in reversed(found):
        line = one.text
        if one.cut and left and one.size <= WHOLE:
            left -= 1
            line = messages.whole(conn, one)
        pairs.append((one, line))
    return pairs[::-1]


# -- lines


def _ruled(reader: Reader, message: Message, line: str, data: Mapping[str, Any] | None, rules: LineRules) -> bool:
    """Read a line as the configuration says; whether it says something about this one."""
    given = Line(message.seq, line, data, message.kind)
    if words := text(by_rule(rules.answer, given)):
        reader.add(message, WORDS, body=shown(words, 12_000, 200))
    elif (why := by_rule(rules.failed, given)) is not None:
        body = shown(why) if isinstance(why, str) and why else None
        reader.add(message, TROUBLE, title="The agent reported a failure", body=body)
    elif by_rule(rules.done, given) is not None:
        reader.add(message, NOTE, title="The agent reported that it is done")
    elif data is not None:
        _unknown(reader, message, data, message.kind)
    else:
        return False
    return True


def _unparsed(reader: Reader, message: Message, line: str) -> None:
    if message.kind in SILENT:
        return
    if message.cut:
        body = replace(shown(line, 600, 12), size=message.size, cut=True)
        reader.add(message, UNKNOWN, title=f"{one_line(message.kind, 60)}, a long line", body=body)
    elif line.strip():
        reader.add(message, UNKNOWN, title="printed", body=shown(line))


def _parsed(reader: Reader, message: Message, data: Mapping[str, Any]) -> None:
    kind, subtype = text(data.get("type")), text(data.get("subtype"))
    content = data.get("message")
    match kind:
        case "assistant" | "user" if isinstance(content, dict):
            _content(reader, message, data, content, by_agent=kind == "assistant")
        case "system":
            _system(reader, message, data, subtype)
        case "result":
            _result(reader, message, data)
        case "control_request":
            _request(reader, message, data)
        case _ if kind in SILENT:
            return
        case _:
            _unknown(reader, message, data, message.kind or kind)


def _unknown(reader: Reader, message: Message, data: Any, kind: str) -> None:
    body = shown(json.dumps(data, indent=1, ensure_ascii=False, default=str), 2000, 40)
    reader.add(message, UNKNOWN, title=one_line(kind, 60) or "a line", line=_inside(data), body=body)


def _inside(data: Any) -> str:
    """What a line is about, in one line: the first field with a telling name, not too far inside."""
    level = [data]
    for _ in range(3):
        level = [one for one in level if isinstance(one, dict)]
        for name in PREFERRED:
            for one in level:
                if isinstance(one.get(name), str) and one[name].strip():
                    return one_line(one[name])
        level = [inner for one in level for inner in list(one.values())[:30]]
    return ""


def _content(
    reader: Reader, message: Message, data: Mapping[str, Any], content: Mapping[str, Any], *, by_agent: bool
) -> None:
    nested = isinstance(data.get("parent_tool_use_id"), str)
    blocks = content.get("content")
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    for block in objects(blocks):
        match block.get("type"):
            case "text" if text(block.get("text")).strip():
                title = "" if by_agent else "Message to the agent"
                kind = WORDS if by_agent else NOTE
                reader.add(message, kind, title=title, body=shown(text(block["text"]), 12_000, 200), nested=nested)
            case "text":
                continue
            case "thinking":
                body = shown(text(block.get("thinking")))
                if body:
                    reader.add(message, THOUGHT, title="Thinking", body=body, nested=nested)
            case "redacted_thinking":
                reader.add(message, NOTE, title="Thinking that the model does not show", nested=nested)
            case "tool_use":
                _call(reader, message, block, nested)
            case "tool_result":
                _answer(reader, message, block)
            case _:
                _unknown(reader, message, block, text(block.get("type")))


def _call(reader: Reader, message: Message, block: Mapping[str, Any], nested: bool) -> None:
    given = block.get("input")
    given = given if isinstance(given, dict) else {}
    reader.begin_call(text(block.get("id")))
    fields = [(one_line(str(name), 60), shown(_spelled(value))) for name, value in list(given.items())[:MOST_FIELDS]]
    reader.add(
        message,
        TOOL,
        title=tool_name(text(block.get("name"))),
        line=in_one_line(given),
        fields=fields,
        status=RUNNING,
        nested=nested,
    )


def tool_name(name: str) -> str:
    """A tool's name for people: those of the sandbox without their prefix."""
    return one_line(name.removeprefix("mcp__sandbox__"), 80) or "a tool"


def in_one_line(given: Mapping[str, Any]) -> str:
    for name in PREFERRED:
        if isinstance(given.get(name), str) and given[name].strip():
            return one_line(given[name])
    return one_line(_spelled(given)) if given else ""


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False, default=str)


def _answer(reader: Reader, message: Message, block: Mapping[str, Any]) -> None:
    said = "\n".join(_parts(block.get("content")))
    status = DONE
    if block.get("is_error") is True:
        status = DENIED if any(word in said[:300].lower() for word in DENIALS) else FAILED
    named = text(block.get("tool_use_id"))
    call = reader.call(named)
    if call is None:
        reader.add(message, TOOL, title="Answer of an earlier call", status=status, answer=shown(said))
        return
    if call.status == DENIED:
        status = DENIED
    reader.complete(named, status=status, answer=shown(said), answer_id=message.id)


def _parts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for one in objects(content):
        if one.get("type") == "text":
            yield text(one.get("text"))
        else:
            yield f"[{one_line(text(one.get('type')), 40) or 'something'}, not shown here]"


def _system(reader: Reader, message: Message, data: Mapping[str, Any], subtype: str) -> None:
    match subtype:
        case "init":
            servers = [
                f"{one_line(text(one.get('name')), 40)} {one_line(text(one.get('status')), 20)}"
                for one in objects(data.get("mcp_servers"))
            ][:8]
            tools = data.get("tools")
            parts = [
                f"model {one_line(text(data.get('model')), 60)}" if text(data.get("model")) else "",
                f"{len(tools)} tools" if isinstance(tools, list) else "",
                f"sandbox: {', '.join(servers)}" if servers else "",
            ]
            reader.add(message, NOTE, title="The agent started", line=" · ".join(filter(None, parts)))
        case "api_retry":
            status, attempt, most = data.get("error_status"), data.get("attempt"), data.get("max_retries")
            why = one_line(text(data.get("error")), 80)
            times = f"attempt {number(attempt) or 0:g} of {number(most) or 0:g}"
            line = f"{why or 'no reason given'}{f' (status {status})' if isinstance(status, int) else ''}, {times}"
            reader.add(message, TROUBLE, title="The model's API failed and is asked again", line=line)
        case "permission_denied":
            call = text(data.get("tool_use_id"))
            if reader.call(call) is not None:
                reader.complete(call, status=DENIED)
            else:
                named = tool_name(text(data.get("tool_name")))
                reader.add(message, TROUBLE, title=f"{named} was not allowed", line=one_line(text(data.get("message"))))
        case "status":
            return
        case _:
            _unknown(reader, message, data, f"system/{subtype}" if subtype else "system")


def _request(reader: Reader, message: Message, data: Mapping[str, Any]) -> None:
    request = data.get("request")
    if isinstance(request, dict) and request.get("subtype") == "can_use_tool":
        reader.add(message, NOTE, title=f"Asked whether it may use {tool_name(text(request.get('tool_name')))}")
    else:
        _unknown(reader, message, data, "control_request")


def _result(reader: Reader, message: Message, data: Mapping[str, Any]) -> None:
    turns, took = number(data.get("num_turns")), number(data.get("duration_ms"))
    bad, subtype = data.get("is_error") is True, text(data.get("subtype"))
    parts = [
        "failed" if bad and subtype == "success" else one_line(subtype, 60).replace("_", " "),
        f"{turns:g} turn{'' if turns == 1 else 's'}" if turns is not None else "",
        f"{took / 1000:.1f} s" if took is not None else "",
    ]
    errors = data.get("errors")
    said = "; ".join(text(one) for one in errors) if isinstance(errors, list) else ""
    reader.add(
        message,
        TROUBLE if bad else NOTE,
        title="The agent reported its result",
        line=" · ".join(filter(None, parts)),
        body=shown(said) if said else None,
    )
