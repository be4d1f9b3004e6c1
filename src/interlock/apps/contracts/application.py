"""The application as it plugs in: the machine with its handlers, endpoints, pages and duties."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from importlib.util import find_spec

from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.settings import ContractSettings
from interlock.machine import Application, Duty, PageLink, Personal, Registry

NEEDED = ("pypdfium2", "docx", "yaml", "rapidfuzz", "xlsxwriter")
"""Modules of the extra `contracts`. Without them there is the life cycle, but no handlers."""

application = Application(
    "contracts",
    machines=[contract],
    settings=ContractSettings,
    tables="interlock.apps.contracts.tables:metadata",
    migrations="interlock.apps.contracts.migrations",
    personal=[
        Personal("contract_record", ["filename", "parties"]),
        Personal("contract_text", ["text", "folded"]),
        Personal("contract_reminder", ["day"]),
    ],
    commands="interlock.apps.contracts.commands:app",
    checks="interlock.apps.contracts.host:checks",
)
if all(find_spec(name) for name in NEEDED):
    application = replace(
        application,
        handlers=[
            "interlock.apps.contracts.steps",
            "interlock.apps.contracts.review.decisions",
            "interlock.apps.contracts.register.followers",
        ],
        duties=[
            Duty("calibration", timedelta(hours=1), "interlock.apps.contracts.review.blind_sample:calibrate"),
            Duty("register", timedelta(hours=1), "interlock.apps.contracts.register.duties:fill"),
            Duty("reminders", timedelta(hours=1), "interlock.apps.contracts.register.duties:remind"),
        ],
        pages=[PageLink("Contracts", "/ui/contracts")],
        starts=[PageLink("Upload a contract", "/ui/contracts/upload", "member")],
        views="interlock.apps.contracts.pages:views",
        routers=[
            "interlock.apps.contracts.register.api:router",  # before those with an id in their address
            "interlock.apps.contracts.register.api:feed",
            "interlock.apps.contracts.api:router",
            "interlock.apps.contracts.api:flows",
            "interlock.apps.contracts.pages:routers",
        ],
        demo="interlock.apps.contracts.demo:parts",
        alerts="interlock.apps.contracts.review.promise_check:rules",
        metrics="interlock.apps.contracts.review.promise_check:metrics",
    )

registry = Registry([application])
