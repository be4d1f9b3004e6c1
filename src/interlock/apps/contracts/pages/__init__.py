"""Pages of contracts: the review page, the comparison, and the view for the inbox."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.pages import (
    blind,
    calendar,
    claiming,
    comparison,
    document,
    listing,
    resume,
    review,
    upload,
)
from interlock.apps.contracts.pages.view import ContractView
from interlock.dashboard.site import bring

bring("contracts", "interlock.apps.contracts.pages")
bring("comparison", "interlock.apps.contracts.comparison", templates=None, static="templates")

views = {contract.name: ContractView()}
routers: Sequence[APIRouter] = (
    listing.router,
    upload.router,
    calendar.router,
    review.router,
    blind.router,
    claiming.router,
    document.router,
    comparison.router,
    resume.router,
)

__all__ = ["ContractView", "routers", "views"]
