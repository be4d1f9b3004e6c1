"""Pages of sources that are configured by hand: which request follows, by a button, a number, an offset or a token."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Pagination(BaseModel):
    """How a list goes on. The kind follows from what is given, unless it is named."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: Literal["none", "next_button", "page", "offset", "token", "next_url"] = "none"
    next_button: str | None = None
    """The selector of the link to the next page."""
    param: str | None = None
    """The parameter that carries the number, the offset or the token."""
    start: int = Field(1, ge=0, le=1_000_000)
    """The number of the first page; an offset begins at 0."""
    size: int = Field(20, ge=1, le=1000)
    """Rows of a full page, for an offset."""
    size_param: str | None = None
    next_path: str | None = None
    """Where the answer has the token or the address of the next page."""
    total_path: str | None = None
    max_pages: int = Field(10, ge=1, le=1000)

    @model_validator(mode="before")
    @classmethod
    def _kind_of(cls, given: Any) -> Any:
        if isinstance(given, dict) and "kind" not in given:
            if given.get("next_button"):
                return {**given, "kind": "next_button"}
            if given.get("next_path"):
                return {**given, "kind": "token" if given.get("param") else "next_url"}
            if given.get("param"):
                return {**given, "kind": "offset" if given["param"] in ("offset", "skip", "start", "from") else "page"}
        return given

    @model_validator(mode="after")
    def _complete(self) -> Pagination:
        needed = {
            "next_button": self.next_button,
            "page": self.param,
            "offset": self.param,
            "token": self.param and self.next_path,
            "next_url": self.next_path,
        }
        if self.kind != "none" and not needed[self.kind]:
            raise ValueError(f"pagination by {self.kind} wants " + WANTED[self.kind])
        return self

    def first_params(self) -> dict[str, str]:
        """Parameters of the first request."""
        found = {}
        if self.kind == "page" and self.param:
            found[self.param] = str(self.start)
        if self.kind == "offset" and self.param:
            found[self.param] = "0"
        if self.size_param:
            found[self.size_param] = str(self.size)
        return found

    def next_params(
        self, page: int, rows: int, before: int, token: str | None, total: int | None
    ) -> dict[str, str] | None:
        """Parameters that change for page number `page`, counted from 0; None at the end."""
        if not rows or (total is not None and before + rows >= total):
            return None
        if self.kind == "page" and self.param:
            return {self.param: str(self.start + page)}
        if self.kind == "offset" and self.param and (total is not None or rows >= self.size):
            return {self.param: str(before + rows)}
        if self.kind == "token" and self.param and token:
            return {self.param: token}
        return None


WANTED = {
    "next_button": "`next_button`, a selector",
    "page": "`param`, the name of a parameter",
    "offset": "`param`, the name of a parameter",
    "token": "`param` and `next_path`",
    "next_url": "`next_path`",
}


def with_params(url: str, params: dict[str, str]) -> str:
    """The address with these parameters in place of any of the same names."""
    parts = urlsplit(url)
    kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in params]
    return urlunsplit(parts._replace(query=urlencode([*kept, *params.items()]), fragment=""))


def same_site(url: str, base: str | None) -> bool:
    """Whether a further page is on the host of the page before; another one could be anybody's."""
    return base is not None and urlsplit(url).netloc.lower() == urlsplit(base).netloc.lower()
