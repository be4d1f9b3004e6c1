"""A registry: the machines and applications that a program serves."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from interlock.machine.application import Application, Duty, PageLink, Scope, attribute, loaded
from interlock.machine.definition import Machine
from interlock.machine.errors import InterlockError, MachineError
from interlock.machine.extras import MissingExtra
from interlock.machine.states import Kind

GROUP = "interlock.registry"


class UnknownMachine(InterlockError):
    """No machine has that name."""


class Registry:
    """The machines and applications that a program serves."""

    def __init__(
        self,
        parts: Iterable[Machine | Application] = (),
        *,
        views: Mapping[str, Any] | None = None,
        routers: Sequence[Any] = (),
        duties: Sequence[Duty] = (),
    ) -> None:
        self._machines: dict[str, Machine] = {}
        self.applications: dict[str, Application] = {}
        self._views: dict[str, Any] = dict(views or {})
        self._routers: list[Any] = list(routers)
        self._duties: list[Duty] = list(duties)
        for part in parts:
            if isinstance(part, Application):
                self._include(part)
            else:
                self.add(part)

    def include(self, other: Registry | Application) -> None:
        """Add everything that another registry, or an application, has."""
        if isinstance(other, Application):
            self._include(other)
            return
        for application in other.applications.values():
            self._include(application)
        for machine in other:
            self.add(machine)
        self._views |= other._views
        self._duties += [duty for duty in other._duties if duty not in self._duties]
        self._routers += [router for router in other._routers if router not in self._routers]

    def _include(self, application: Application) -> None:
        if self.applications.get(application.name, application) is not application:
            raise InterlockError(f"two applications are named {application.name!r}; leave one of them out")
        self._check_programs(application)
        for machine in application.machines:
            self.add(machine)
        self.applications[application.name] = application

    def _check_programs(self, application: Application) -> None:
        """Refuse two commands `interlock NAME` of one name, be they programs or groups of an application's commands."""
        others = [one for one in self.applications.values() if one is not application]
        taken = {name: one.name for one in others for name in one.programs} | {one.name: one.name for one in others}
        for name in (*application.programs, application.name):
            if name in taken:
                raise InterlockError(
                    f"the applications {taken[name]!r} and {application.name!r} both have a command "
                    f"`interlock {name}`; leave one of them out"
                )
        if application.name in application.programs:
            raise InterlockError(f"the application {application.name!r} has a program of its own name; rename it")

    def with_machines(self, machines: Iterable[Machine], views: Mapping[str, Any]) -> Registry:
        """A registry with the same applications, but with these machines and views."""
        made = Registry(machines, views=views, routers=self._routers, duties=self._duties)
        made.applications = dict(self.applications)
        return made

    def configured(self, settings: Mapping[str, Any]) -> Registry:
        """A registry with the machines that applications choose by their settings, which are given by their names."""
        chosen = {
            name: replace(one, machines=_machines_of(one, one.machines_by_settings, settings[name]))
            for name, one in self.applications.items()
            if one.machines_by_settings is not None and name in settings
        }
        machines = {machine.name: machine for one in chosen.values() for machine in one.machines}
        made = self.with_machines([machines.get(machine.name, machine) for machine in self], views=self._views)
        made.applications |= chosen
        return made

    @property
    def views(self) -> dict[str, Any]:
        """How a machine's instances look to people: machine → a `View` of the dashboard."""
        found: dict[str, Any] = {}
        for one in self.applications.values():
            found |= _views_of(one) if one.views else {}
        return found | self._views

    @property
    def routers(self) -> list[Any]:
        """Endpoints and pages of the applications, as FastAPI routers."""
        found = list(self._routers)
        for one in self.applications.values():
            for spec in one.routers:
                named = attribute(spec, "a FastAPI router", "router")
                given = named if isinstance(named, Sequence) else [named]
                for router in given:
                    if not hasattr(router, "routes"):
                        raise InterlockError(f"{spec!r} is a {type(router).__name__}, not a FastAPI router")
                found += [router for router in given if router not in found]
        return found

    @property
    def scopes(self) -> list[Scope]:
        """Scopes for tokens that the applications bring."""
        found: dict[str, Scope] = {}
        for one in self.applications.values():
            for scope in one.scopes:
                if found.setdefault(scope.name, scope) is not scope:
                    raise InterlockError(f"two applications bring the scope {scope.name!r}; leave one of them out")
        return list(found.values())

    @property
    def duties(self) -> list[Duty]:
        """Periodic jobs of the applications."""
        found = list(self._duties)
        for one in self.applications.values():
            found += [duty for duty in one.duties if duty not in found]
        names = [duty.name for duty in found]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise InterlockError(f"two duties are named {doubled[0]!r}; name each after its application")
        return found

    @property
    def pages(self) -> list[PageLink]:
        """Pages of the applications for the navigation."""
        return [page for one in self.applications.values() for page in one.pages]

    def load_handlers(self) -> None:
        """Import the modules that declare the handlers and followers of the applications."""
        for one in self.applications.values():
            for module in one.handlers:
                loaded(module)

    def add(self, machine: Machine) -> Machine:
        if machine.name in self._machines and self._machines[machine.name] is not machine:
            owner = next((f", one of them in {a.name}" for a in self.applications.values() if a.has(machine.name)), "")
            raise MachineError(machine.name, [f"doubled: two machines are named {machine.name!r}{owner}"])
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

    def missing_handlers(self, machine: Machine) -> list[str]:
        """What of the machine has no handler in this process, one line each."""
        self.load_handlers()
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
        """Raise MachineError if a machine in these queues has work without a handler."""
        for machine in self:
            problems = self.missing_handlers(machine) if queues is None or machine.queue in queues else []
            if problems:
                raise MachineError(machine.name, problems)

    def fully_handled(self) -> list[Machine]:
        """The machines that have all their handlers in this process."""
        return [machine for machine in self if not self.missing_handlers(machine)]


def _views_of(application: Application) -> Mapping[str, Any]:
    found = attribute(application.views or "", "a mapping of views", "views")
    if not isinstance(found, Mapping):
        raise InterlockError(f"{application.views!r} is a {type(found).__name__}, not a mapping of machines to views")
    return found


def _machines_of(application: Application, spec: str, settings: Any) -> list[Machine]:
    machines = list(attribute(spec, "a function", "function")(settings))
    if [one.name for one in machines] != [one.name for one in application.machines]:
        raise InterlockError(
            f"{spec!r} returns the machines {', '.join(one.name for one in machines)}; it has to return those of the "
            f"application, {', '.join(one.name for one in application.machines)}, in versions of its choice"
        )
    return machines


def load(spec: str) -> Registry:
    """The registry, application or machine that `package.module:name` names, as a registry."""
    found = attribute(spec, "a registry", "registry")
    if isinstance(found, Machine | Application):
        return Registry([found])
    if not isinstance(found, Registry):
        raise InterlockError(f"{spec!r} is a {type(found).__name__}, not an Application, a Registry or a Machine")
    return found


@lru_cache(maxsize=4)
def _entry_points(path: tuple[str, ...]) -> list[EntryPoint]:
    """The entry points of the packages on this path. Cached: it takes 10 ms, and a command asks four times."""
    return sorted(entry_points(group=GROUP), key=lambda e: e.name)


def installed(apps: Iterable[str] = ()) -> Registry:
    """A registry with everything in the entry point group `interlock.registry`, and with what `apps` names."""
    everything = Registry()
    for entry in _entry_points(tuple(sys.path)):
        try:
            everything.include(load(entry.value))
        except MissingExtra:
            raise
        except InterlockError as error:
            package = entry.dist.name if entry.dist is not None else entry.name
            raise InterlockError(f"{error} (the package {package} brings it: fix or uninstall it)") from error
    for spec in dict.fromkeys(apps):
        everything.include(load(spec))
    return everything
