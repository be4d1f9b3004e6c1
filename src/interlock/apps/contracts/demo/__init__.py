"""The demo's contracts: what was agreed on (`agreements`), written down (`papers`), and what becomes of it (`part`)."""

from interlock.demo import Part


def parts() -> list[Part]:
    from interlock.apps.contracts.demo.part import CONTRACTS

    return [CONTRACTS]
