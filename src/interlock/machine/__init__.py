"""Machines: states, transitions and policies as plain values, with checks and drawings.

Nothing in this package reads a clock, a file or a database. A machine is a table that reads like one in a
specification, and a few plain functions:

    order = Machine("order", initial="new", states=[...], transitions=[
        Transition("new", "packed", on="pack"),
    ])

    @order.work("new")
    def pack(task): return Go("packed")

A declaration is checked at once. A state is one of four kinds: *work* (a worker acts), *waiting* (a person or an
outside event acts), *failed* (a failure rule or a person acts), *final* (nothing happens by itself).
"""

from interlock.machine.application import NAME, Application, Duty, HostCheck, PageLink, Personal, Scope, attribute
from interlock.machine.definition import KeyScope, Machine, Work, compatible
from interlock.machine.drawing import as_json, as_mermaid, as_table
from interlock.machine.errors import (
    DataTooBig,
    EffectKeyReused,
    EffectUnknown,
    HandlerDied,
    HandlerOutOfMemory,
    HandlerTimeout,
    InterlockError,
    InvalidOutcome,
    LimitReached,
    MachineError,
    NotSent,
    WorkerLost,
    WorkError,
)
from interlock.machine.failures import Backoff, Failures, Pause, Rule, exponential, fixed
from interlock.machine.limits import Concurrent, Limit, Window
from interlock.machine.outcome import Again, Ask, Fail, Go, Message, Outcome, Patch, Spawn, Stay
from interlock.machine.registry import Registry, UnknownMachine, installed, load
from interlock.machine.states import FAILED, FINAL, WAITING, WORK, Kind, Reminder, Review, State, Timer
from interlock.machine.transitions import (
    AGENT,
    OWNER,
    SYSTEM,
    USER,
    WORKER,
    Actor,
    Arm,
    By,
    Edge,
    Facts,
    Guard,
    Transition,
    came_from,
    failed_at,
)

__all__ = [
    "AGENT",
    "FAILED",
    "FINAL",
    "NAME",
    "OWNER",
    "SYSTEM",
    "USER",
    "WAITING",
    "WORK",
    "WORKER",
    "Actor",
    "Again",
    "Application",
    "Arm",
    "Ask",
    "Backoff",
    "By",
    "Concurrent",
    "DataTooBig",
    "Duty",
    "Edge",
    "EffectKeyReused",
    "EffectUnknown",
    "Facts",
    "Fail",
    "Failures",
    "Go",
    "Guard",
    "HandlerDied",
    "HandlerOutOfMemory",
    "HandlerTimeout",
    "HostCheck",
    "InterlockError",
    "InvalidOutcome",
    "KeyScope",
    "Kind",
    "Limit",
    "LimitReached",
    "Machine",
    "MachineError",
    "Message",
    "NotSent",
    "Outcome",
    "PageLink",
    "Patch",
    "Pause",
    "Personal",
    "Registry",
    "Reminder",
    "Review",
    "Rule",
    "Scope",
    "Spawn",
    "State",
    "Stay",
    "Timer",
    "Transition",
    "UnknownMachine",
    "Window",
    "Work",
    "WorkError",
    "WorkerLost",
    "as_json",
    "as_mermaid",
    "as_table",
    "attribute",
    "came_from",
    "compatible",
    "exponential",
    "failed_at",
    "fixed",
    "installed",
    "load",
]
