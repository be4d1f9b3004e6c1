"""The section `[expenses]` of the configuration."""

from __future__ import annotations

from pathlib import Path

from interlock.config import Table
from pydantic import Field


class ExpenseSettings(Table):
    """How receipts are handled."""

    approve_above: int = Field(100_00, ge=0, description="Cents above which a person approves a receipt.")
    refuse_above: int = Field(10_000_00, ge=0, description="Cents above which a receipt is rejected at once.")
    audit_above: int = Field(50_00, ge=0, description="Cents above which a person compares a payment with its paper.")
    audit_days: int = Field(30, ge=1, le=3650, description="Days after which an audit that nobody made is overdue.")
    answer_hours: int = Field(24, ge=1, le=720, description="Hours that a question for the category stays open.")
    papers: Path | None = Field(None, description="Folder with the scanned receipts, for those who compare payments.")
