"""The data of a receipt."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

Category = Literal["travel", "meals", "equipment", "other"]


class Receipt(BaseModel):
    """Everything that is known about one receipt."""

    employee: str = Field(min_length=1, max_length=100)
    account: str = Field(pattern=r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", description="The employee's IBAN.")
    shop: str = Field(min_length=1, max_length=200)
    cents: int = Field(gt=0, le=100_000_000)
    category: Category | None = None
    payment: str = ""


class CategoryForm(BaseModel):
    """What a person answers who is asked for the category."""

    category: Category


def money(cents: int) -> str:
    """An amount as people read it."""
    return f"{cents // 100:,}.{cents % 100:02}"
