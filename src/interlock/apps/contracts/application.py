"""The application as it plugs in: the machine with its handlers, its endpoints, its pages, what it looks after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

from interlock.apps.contracts.machine import contract
from interlock.engine import Engine
from interlock.machine import Duty, Registry

NEEDED = ("pypdfium2", "docx", "yaml", "rapidfuzz")
"""What the extra `contracts` brings; without it there is the life cycle, and nobody who does the work."""

if all(find_spec(name) for name in NEEDED):
    from interlock.apps.contracts import steps  # noqa: F401 - they register
    from interlock.apps.contracts.fields import calibration_store
    from interlock.apps.contracts.review import (
        blind_sample,
        decisions,  # noqa: F401 - they register
    )

    def _shows() -> tuple[Mapping[str, Any], Sequence[Any]]:
        from interlock.apps.contracts import api, pages

        return {contract.name: pages.ContractView()}, [api.router, api.flows, *pages.routers]

    def _calibrate(engine: Engine) -> bool:
        blind_sample.learn(engine)
        return calibration_store.recount(engine)

    registry = Registry(
        [contract],
        shows=_shows,
        duties=[Duty("calibration", timedelta(hours=1), _calibrate)],
    )
else:
    registry = Registry([contract])
