"""A review page as a browser without a script has it: what is in its form, and what pressing a button sends."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

from tests.support.contracts import Contracts
from tests.support.site import Site


class Form(HTMLParser):
    """The values of the form `review`, as they would be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self.action: str | None = None
        self._inside, self._area, self._select, self._option = False, "", "", False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form" and found.get("id") == "review":
            self._inside, self.action = True, found["action"]
        if not self._inside:
            return
        if tag == "input" and (found.get("type") not in {"radio", "checkbox"} or "checked" in found):
            self.values[found["name"]] = found.get("value", "")
        elif tag == "textarea":
            self._area, self.values[found["name"]] = found["name"], ""
        elif tag == "select":
            self._select, self.values[found["name"]] = found["name"], ""
        elif tag == "option":
            self._option = "selected" in found

    def handle_data(self, data: str) -> None:
        if self._area:
            self.values[self._area] += data
        elif self._select and self._option:
            self.values[self._select] = data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        elif tag == "textarea":
            self._area = ""
        elif tag == "select":
            self._select = ""
        elif tag == "option":
            self._option = False


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
        found = Form()
        found.feed(self.text)
        return found.values

    def press(self, button: str, value: str, **entered: str) -> Any:
        """Fill in (`do__parties="accept"` is the field `do.parties`) and press a button; the page is what comes."""
        typed = {name.replace("__", "."): text for name, text in entered.items()}
        self.page = self.site.browser(self.who).post(self.path, data={**self.form, **typed, button: value})
        return self.page

    def decide(self, decision: str, **entered: str) -> Any:
        return self.press("decision", decision, **entered)
