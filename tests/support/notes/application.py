"""The application as it plugs in."""

from __future__ import annotations

from interlock.machine import FINAL, USER, WAITING, Application, Machine, Personal, Scope, State, Transition
from tests.support.notes.settings import NotesSettings

note = Machine(
    "note",
    initial="open",
    states=[State("open", WAITING, waits_for="the porter"), State("done", FINAL)],
    transitions=[Transition("open", "done", on="finish", by=USER)],
)

SCRIBBLE = Scope("scribble", "write notes", role="reviewer")
application = Application(
    "notes",
    machines=[note],
    settings=NotesSettings,
    scopes=[SCRIBBLE],
    tables="tests.support.notes.tables:metadata",
    migrations="tests.support.notes.migrations",
    personal=[Personal("notes_visitor", ["name"], erase="empty"), Personal("notes_line", ["words"])],
)
