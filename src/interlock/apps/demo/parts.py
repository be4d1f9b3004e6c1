"""The parts of the world, and which of them are played with the machines that are here."""

from __future__ import annotations

from interlock.apps.contracts.machine import contract
from interlock.apps.demo import views
from interlock.apps.demo.applications import APPLICATIONS
from interlock.apps.demo.claims import CLAIMS
from interlock.apps.demo.contracts import CONTRACTS
from interlock.apps.demo.finder import FINDER
from interlock.apps.demo.parcels import PARCELS
from interlock.apps.demo.part import Part, handler, is_played
from interlock.apps.demo.sessions import SESSIONS
from interlock.apps.sample import parcel
from interlock.machine import Machine, Registry

PARTS = (PARCELS, CONTRACTS, APPLICATIONS, SESSIONS, FINDER, CLAIMS)
PART_OF = {machine: part for part in PARTS for machine in part.acts}
OWN = {machine.name: machine for machine in (parcel, contract)}
"""Machines whose own handlers do the work in the demo, too."""


def played(registry: Registry) -> Registry:
    """The same machines and the sample's, with the demo's acts where nobody brings the code for the work."""
    there = list(registry)
    if parcel.name not in registry:
        there.append(parcel)
    shown = {name: view for name, view in views.VIEWS.items() if name in registry} | registry.views
    machines = [_with_acts(registry, one) for one in there]
    return registry.playing(machines, views=shown)


def _with_acts(registry: Registry, machine: Machine) -> Machine:
    part = PART_OF.get(machine.name)
    if part is None or machine is OWN.get(machine.name) or machine.handlers or not registry.missing(machine):
        return machine
    acts = part.acts[machine.name]
    if not machine.states.keys() >= acts.keys():
        return machine  # somebody else's, that happens to have the name
    return machine.with_handlers({state: handler(part, machine.name, state) for state in acts})


def parts_of(registry: Registry) -> list[Part]:
    """The parts whose machines are all here, and played by the demo or worked by their own handlers."""
    return [part for part in PARTS if all(_is_ours(registry, name) for name in part.acts)]


def _is_ours(registry: Registry, name: str) -> bool:
    machine = registry.get(name)
    if machine is None:
        return False
    if name in OWN:
        return machine is OWN[name] and not registry.missing(machine)
    return not PART_OF[name].acts[name] or all(is_played(work.handler) for work in machine.handlers.values())
