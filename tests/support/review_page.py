"""A review page as a browser without a script has it: what is in its form, and what pressing a button sends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from selectolax.lexbor import LexborHTMLParser

from tests.support.contracts import Contracts
from tests.support.site import Site


def form_of(text: str) -> tuple[str | None, dict[str, str]]:
    """Where the form `review` is sent to, and its values; None and nothing where the page has none."""
    form = LexborHTMLParser(text).css_first("form#review")
    values: dict[str, str] = {}
    for one in form.css("input, textarea, select") if form is not None else ():
        given = one.attributes
        name, kind = given["name"] or "", given.get("type")
        if one.tag == "textarea":
            values[name] = one.text()
        elif one.tag == "select":
            chosen = one.css_first("option[selected]")
            values[name] = chosen.text() if chosen is not None else ""
        elif kind not in {"radio", "checkbox"} or "checked" in given:
            values[name] = given.get("value") or ""
    return form.attributes["action"] if form is not None else None, values


@dataclass
class Paper:
    """Somebody's window on a review."""

    contracts: Contracts
    it: UUID
    who: str = "reviewer"
    page: Any = field(init=False)

    def __post_init__(self) -> None:
        self.site = Site(self.contracts.api)
        self.open()
        self.take()

    @property
    def path(self) -> str:
        return f"/ui/contracts/{self.it}/review"

    def open(self, query: str = "") -> None:
        self.page = self.site.get(self.path + query, self.who)

    def take(self) -> None:
        """Take the review, where the page offers it."""
        if f'action="{self.path}/take"' in self.text:
            self.page = self.site.send(self.path, f"{self.path}/take", who=self.who)

    @property
    def text(self) -> str:
        text: str = self.page.text
        return text

    @property
    def form(self) -> dict[str, str]:
        """What the page's form has in it now; empty where it has none."""
        return form_of(self.text)[1]

    def press(self, button: str, value: str, **entered: str) -> Any:
        """Fill in (`do__parties="accept"` is the field `do.parties`) and press a button; the page is what comes."""
        typed = {name.replace("__", "."): text for name, text in entered.items()}
        self.page = self.site.browser(self.who).post(self.path, data={**self.form, **typed, button: value})
        return self.page

    def decide(self, decision: str, **entered: str) -> Any:
        return self.press("decision", decision, **entered)
