"""A registry: the machines that a program serves. An application exports one; so does a user's package."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from interlock.machine.definition import Machine
from interlock.machine.errors import InterlockError, MachineError
from interlock.machine.states import Kind

GROUP = "interlock.registry"


class UnknownMachine(InterlockError):
    """No machine has that name."""


@dataclass(frozen=True, slots=True)
class Duty:
    """Something that an application's workers look after now and then, beside handlers: any of them, never twice."""

    name: str
    every: timedelta
    do: Callable[[Any], bool]
    """Given the engine; True asks for the next round at once."""


class Registry:
    """Machines by name, with what their application brings for people and for other programs."""

    def __init__(
        self,
        machines: Iterable[Machine] = (),
        *,
        views: Mapping[str, Any] | None = None,
        routers: Sequence[Any] = (),
        duties: Sequence[Duty] = (),
        shows: Callable[[], tuple[Mapping[str, Any], Sequence[Any]]] | None = None,
    ) -> None:
        self._machines: dict[str, Machine] = {}
        self._views: dict[str, Any] = dict(views or {})
        self._routers: list[Any] = list(routers)
        self._shows = [shows] if shows is not None else []
        """Give views and routers when they are asked for: a command that shows nothing loads neither."""
        self.duties: list[Duty] = list(duties)
        for machine in machines:
            self.add(machine)

    def include(self, other: Registry) -> None:
        """Take in all that another registry has."""
        for machine in other:
            self.add(machine)
        self._shows += [one for one in other._shows if one not in self._shows]
        self._views |= other._views
        self.duties += [duty for duty in other.duties if duty not in self.duties]
        self._routers += [router for router in other._routers if router not in self._routers]

    @property
    def views(self) -> dict[str, Any]:
        """How a machine's instances look to people: machine → a `View` of the dashboard."""
        self._show()
        return self._views

    @property
    def routers(self) -> list[Any]:
        """Endpoints of the application's own, as FastAPI routers."""
        self._show()
        return self._routers

    def _show(self) -> None:
        while self._shows:
            views, routers = self._shows.pop(0)()
            self._views |= views
            self._routers += [router for router in routers if router not in self._routers]

    def add(self, machine: Machine) -> Machine:
        if machine.name in self._machines and self._machines[machine.name] is not machine:
            raise MachineError(machine.name, [f"doubled: two machines are named {machine.name!r}"])
        self._machines[machine.name] = machine
        return machine

    def __iter__(self) -> Iterator[Machine]:
        return iter(self._machines.values())

    def __len__(self) -> int:
        return len(self._machines)

    def __contains__(self, name: str) -> bool:
        return name in self._machines

    def __getitem__(self, name: str) -> Machine:
        try:
            return self._machines[name]
        except KeyError:
            known = ", ".join(sorted(self._machines)) or "none"
            raise UnknownMachine(f"there is no machine {name!r}; there are: {known}") from None

    def get(self, name: str) -> Machine | None:
        return self._machines.get(name)

    def missing(self, machine: Machine) -> list[str]:
        """The work of the machine that no code here does."""
        done = {state for state, _ in machine.handlers}
        problems = [
            f"stuck: state {s.name!r} is work, but has neither a handler nor a pick-up"
            for s in machine.states.values()
            if s.kind is Kind.WORK and s.name not in done and machine.pick_up(s.name) is None
        ]
        problems += [
            f"stuck: event {arm.on!r} arms state {arm.state!r}, which has no handler"
            for arm in machine.arms
            if arm.state not in done and machine.pick_up(arm.state) is None
        ]
        return problems

    def check_handlers(self, queues: Collection[str] | None = None) -> None:
        """Refuses a machine, of those in these queues, with work that nobody does."""
        for machine in self:
            problems = self.missing(machine) if queues is None or machine.queue in queues else []
            if problems:
                raise MachineError(machine.name, problems)

    def workable(self) -> list[Machine]:
        """The machines whose work is all done by code that is here."""
        return [machine for machine in self if not self.missing(machine)]


def load(spec: str) -> Registry:
    """The registry, or the single machine, that `package.module:name` points at."""
    module_name, _, attribute = spec.partition(":")
    if not module_name or not attribute:
        raise InterlockError(f"{spec!r} does not name a registry; write it as package.module:registry")
    try:
        found = getattr(import_module(module_name), attribute)
    except ModuleNotFoundError as error:
        raise InterlockError(f"{spec!r} cannot be loaded: {error}; is the package installed?") from error
    except AttributeError as error:
        raise InterlockError(f"{spec!r} cannot be loaded: {error}") from error
    if isinstance(found, Machine):
        return Registry([found])
    if not isinstance(found, Registry):
        raise InterlockError(f"{spec!r} is a {type(found).__name__}, not a Registry or a Machine")
    return found


def installed() -> Registry:
    """Every machine that the installed packages offer through the entry point group `interlock.registry`."""
    everything = Registry()
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        everything.include(load(entry.value))
    return everything
