"""The parts that applications bring, and which of them run with the loaded machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from interlock.config import BudgetSettings
from interlock.demo.part import Part, handler, is_played
from interlock.engine import Engine
from interlock.machine import Application, InterlockError, Machine, Registry, attribute

BUDGETS = {"all": BudgetSettings(day=100, month=2000), "sessions": BudgetSettings(day=60)}
"""For models, so that the page of costs shows some. A day of the demo stays below them."""
SAMPLE = "interlock.apps.sample.application:application"
"""The sample is part of every demo, although it is not installed as an application."""


def sample() -> Application:
    found = attribute(SAMPLE)
    assert isinstance(found, Application)
    return found


def fits(registry: Registry) -> bool:
    """Whether no loaded machine has the name of one of the sample's."""
    return all(registry.get(machine.name) in (None, machine) for machine in sample().machines)


def played(registry: Registry) -> Registry:
    """These machines and the sample's, with the demo's acts where a machine has no handlers."""
    whole = Registry()
    whole.include(registry)
    if fits(registry):
        whole.include(sample())
    whole.load_handlers()
    parts = list(_parts(whole))
    by_machine = {name: (application, part) for application, part in parts for name in part.acts}
    machines = [_with_acts(whole, one, *by_machine.get(one.name, (None, None))) for one in whole]
    views = {name: view for _, part in parts for name, view in part.views.items() if name in whole}
    return whole.with_machines(machines, views=views | whole.views)


def parts_of(registry: Registry) -> list[Part]:
    """The parts whose machines are all loaded and have handlers, the demo's or their own."""
    return [
        part
        for application, part in _parts(registry)
        if all(_is_ours(registry, application, name) for name in part.acts)
    ]


def configure(engine: Engine) -> None:
    """Add what the parts need to the configuration of this process."""
    for part in parts_of(engine.registry):
        if part.configure is not None:
            part.configure(engine)
    ai = engine.core.settings.get("ai")
    if ai is not None and not ai.budgets:
        budgets = {name: one for name, one in BUDGETS.items() if name == "all" or name in engine.registry.applications}
        engine.core.settings["ai"] = ai.model_copy(update={"budgets": budgets})


def _parts(registry: Registry) -> Iterator[tuple[Application, Part]]:
    for application in sorted(registry.applications.values(), key=lambda one: one != sample()):
        if application.demo is not None:
            for part in _parts_of(application, application.demo):
                yield application, part


def _parts_of(application: Application, spec: str) -> Sequence[Part]:
    try:
        return list(attribute(spec, "a function that returns parts of the demo", "parts")())
    except Exception as error:
        raise InterlockError(
            f"the part of {application.name} in the demo cannot be used: {error}; mend it, or start without the demo, "
            "in another data folder: interlock up --no-demo --data DIR"
        ) from error


def _with_acts(registry: Registry, machine: Machine, application: Application | None, part: Part | None) -> Machine:
    if application is None or part is None or machine.handlers or not registry.missing_handlers(machine):
        return machine
    if not _is_of(application, machine):
        return machine  # another application's machine of the same name
    return machine.with_handlers({state: handler(part, machine.name, state) for state in part.acts[machine.name]})


def _is_ours(registry: Registry, application: Application, name: str) -> bool:
    machine = registry.get(name)
    if machine is None:
        return False
    if _is_of(application, machine):
        return not registry.missing_handlers(machine)
    return bool(machine.handlers) and all(is_played(work.handler) for work in machine.handlers.values())


def _is_of(application: Application, machine: Machine) -> bool:
    return any(machine is one for one in application.machines)
