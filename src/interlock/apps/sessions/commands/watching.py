"""`interlock session watch`: the agent's work as it happens, on a terminal and as plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from interlock.apps.sessions.commands.sessions import SessionId, session_in
from interlock.console.options import DEFAULT_DATABASE, App, Config, Database, id_of, opened
from interlock.console.printing import INTERRUPTED

if TYPE_CHECKING:
    import sqlalchemy as sa

    from interlock.apps.sessions.agents.config import LineRules
    from interlock.apps.sessions.conversation.entries import Entry, Reader
    from interlock.apps.sessions.conversation.messages import Message
    from interlock.apps.sessions.conversation.prompts import Prompt
    from interlock.engine import Engine, OpenReview

LOOK_EVERY = 0.3
CODES = {"done": 0, "failed": 1, "cancelled": 3, "unknown": 4}
"""Exit codes: how the last prompt ended."""
LONGEST = 20
"""Lines of a text that are printed."""
SIGNS = {"running": "…", "done": "✓", "failed": "✗", "denied": "✗"}
STYLES = {"asked": "bold cyan", "words": "", "tool": "dim", "bad": "red", "good": "green", "note": "dim"}


def watch(
    session_id: SessionId,
    every: Annotated[bool, typer.Option("--all", help="From the first prompt on, not from the newest one.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines, also on a terminal.")] = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Watch the agent until no prompt is left. Exit code 0: done, 1: failed, 3: cancelled, 4: unknown outcome."""
    with opened(database, apps, config) as engine:
        raise typer.Exit(follow(engine, id_of(engine, "instance", session_id), every=every, plain=plain))


def follow(engine: Engine, session_id: UUID, *, every: bool = False, plain: bool = False) -> int:
    """Print what happens until no prompt is left; the exit code."""
    from interlock.apps.sessions.settings import settings_in

    seen = engine.read(lambda conn: session_in(conn, session_id))
    rules = settings_in(engine.setting("sessions")).rules_of(str(seen.data.get("agent") or ""))
    following = _Following(engine, session_id, every, rules)
    try:
        with _screen(plain or not sys.stdout.isatty()) as screen:
            while True:
                for kind, line in following.news():
                    screen.line(kind, line)
                if following.over:
                    return following.code
                screen.status(following.status)
                time.sleep(LOOK_EVERY)
    except KeyboardInterrupt:
        typer.echo(f"the agent continues; end it with: interlock session cancel {session_id}", err=True)
        return INTERRUPTED


@dataclass
class _Followed:
    """How far one prompt was printed."""

    reader: Reader
    seq: int = 0
    printed: set[str] = field(default_factory=set)
    begun: bool = False
    ended: bool = False


class _Following:
    """Reads what is new about a session."""

    def __init__(self, engine: Engine, session_id: UUID, every: bool, rules: LineRules | None) -> None:
        self._engine, self._id, self._rules = engine, session_id, rules
        self._known: dict[UUID, _Followed] = {}
        self._told: set[UUID] = set()
        self._first = 0 if every else None
        self._asks = 0
        self.over, self.code, self.status = False, 0, "waits"

    def news(self) -> Iterator[tuple[str, str]]:
        """New lines, each with its kind."""
        from interlock.apps.sessions.conversation import prompts

        if self._first is None:
            newest = self._engine.read(lambda conn: prompts.following(conn, self._id))
            last = newest or next(iter(self._engine.read(lambda conn: prompts.latest(conn, self._id, 1))), None)
            self._first = last.number - 1 if last is not None else 0
        after = self._first
        listed = self._engine.read(lambda conn: prompts.of_session(conn, self._id, after=after))
        for prompt in listed:
            yield from self._of_prompt(prompt)
        yield from self._questions()
        self.over = all(not one.open for one in listed)
        if listed and self.over:
            self.code = CODES.get(listed[-1].inbox_status, 1)
        elif not listed:
            yield "note", "nothing was asked in this session yet"
        self.status = self._status(listed)

    def _of_prompt(self, prompt: Prompt) -> Iterator[tuple[str, str]]:
        from interlock.apps.sessions.conversation.entries import Reader
        from interlock.apps.sessions.conversation.visible import shown, visible

        known = self._known.setdefault(prompt.id, _Followed(Reader(self._rules)))
        if known.ended or (prompt.waits and prompt.agent_at is None):
            return
        if not known.begun:
            known.begun = True
            yield "asked", f"{prompt.number}. {shown(prompt.text, 2000, LONGEST).text}"
        while found := self._engine.read(partial(_after, prompt.id, known.seq)):
            for message, text in found:
                known.seq = message.seq
                for entry in known.reader.read(message, text):
                    yield from _lines(entry)
        if not prompt.open:
            known.ended = True
            cost = "" if prompt.cost_usd is None else f" ${prompt.cost_usd:.4f}"
            kind = "good" if prompt.inbox_status == "done" else "bad"
            yield kind, f"{prompt.inbox_status}: {visible(prompt.sentence or '')}{cost}"

    def _questions(self) -> Iterator[tuple[str, str]]:
        from interlock.apps.sessions.conversation.visible import one_line
        from interlock.engine import questions

        open_: Sequence[OpenReview] = self._engine.read(lambda conn: questions.open_for(conn, self._id))
        self._asks = len(open_)
        for one in open_:
            if one.id not in self._told:
                self._told.add(one.id)
                yield "bad", f"the agent asks: {one_line(one.title, 200)}"
                yield "note", f"  interlock review decide {one.id} allow    (or: deny)"

    def _status(self, listed: Sequence[Prompt]) -> str:
        active = next((one for one in listed if one.open and not one.waits), None)
        waiting = sum(one.waits for one in listed)
        queue = f", {waiting} waiting" if waiting else ""
        if active is None:
            return f"waits for a sandbox or a worker{queue}"
        since = (self._engine.clock.now() - (active.started_at or active.created_at)) // 1_000_000
        what = "waits for an answer" if self._asks else "is being ended" if active.cancel_at else "works"
        return f"prompt {active.number}: the agent {what}, {since} s{queue}"


def _after(prompt_id: UUID, seq: int, conn: sa.Connection) -> list[tuple[Message, str]]:
    from interlock.apps.sessions.conversation import messages
    from interlock.apps.sessions.conversation.entries import with_text

    return with_text(conn, messages.of_prompt(conn, prompt_id, after=seq, limit=200))


def _lines(entry: Entry) -> Iterator[tuple[str, str]]:
    """An entry as lines; a tool call comes once when it begins and once when it has ended."""
    body = entry.body.text if entry.body else ""
    match entry.kind:
        case "words":
            yield "words", _short(body)
        case "thought":
            yield "note", f"(thinks) {_short(body, 2)}"
        case "tool" if entry.status == "running":
            yield "tool", f"{SIGNS['running']} {entry.title}  {entry.line}".rstrip()
        case "tool":
            said = entry.answer.text if entry.answer else ""
            kind = "tool" if entry.status == "done" else "bad"
            first = next((line for line in said.splitlines() if line.strip()), "")
            yield kind, f"{SIGNS.get(entry.status, '✓')} {entry.title}  {first[:160]}".rstrip()
        case "trouble":
            yield (
                "bad",
                " ".join(filter(None, (entry.title + (":" if entry.line else ""), entry.line, _short(body, 3)))),
            )
        case "note":
            yield "note", " ".join(filter(None, (entry.title + (":" if entry.line else ""), entry.line)))
        case _:
            yield "note", f"[{entry.title}] {entry.line or _short(body, 2)}"


def _joined(title: str, *more: str) -> str:
    said = " ".join(filter(None, more))
    return f"{title}: {said}" if said else title


def _short(text: str, most: int = LONGEST) -> str:
    lines = text.strip().splitlines()
    return "\n".join([*lines[:most], *(["…"] if len(lines) > most else [])])


class _Plain:
    """Lines without colours, for pipes and logs."""

    def line(self, kind: str, text: str) -> None:
        typer.echo(f"> {text}" if kind == "asked" else text)
        sys.stdout.flush()

    def status(self, text: str) -> None:
        """Nothing: a log has no place for what changes."""


class _Live:
    """Lines that stay, and below them what happens now."""

    def __init__(self, live: Any, console: Any) -> None:
        from rich.spinner import Spinner

        self._live, self._console = live, console
        self._spinner = Spinner("dots", "")

    def line(self, kind: str, text: str) -> None:
        from rich.text import Text

        self._console.print(Text(f"> {text}" if kind == "asked" else text, style=STYLES.get(kind, "")))

    def status(self, text: str) -> None:
        from rich.text import Text

        self._spinner.update(text=Text(text, style="dim"))
        self._live.update(self._spinner)


@contextmanager
def _screen(plain: bool) -> Iterator[_Plain | _Live]:
    if plain:
        yield _Plain()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False)
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        yield _Live(live, console)
