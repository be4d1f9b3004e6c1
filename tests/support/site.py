"""The pages as somebody who is logged in sees them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from starlette.testclient import TestClient

from interlock.dashboard.app import dashboard
from interlock.dashboard.site import forget_frames
from interlock.http.app import create_app
from interlock.http.caller import COOKIE
from tests.support.api import Api

EVIL = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>'\u202e{{7*7}}"
"""Text that would do something if a page let it."""


@dataclass
class Site:
    """The pages, and a browser without a script for each person."""

    api: Api
    browsers: dict[str, TestClient] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.app = create_app(self.api.service, routers=self.api.engine.registry.routers, pages=dashboard())

    def browser(self, who: str = "owner") -> TestClient:
        """Logged in by a link; the names are those of the API's people: owner, member, viewer, north-owner, …"""
        if who not in self.browsers:
            person = self.api.people.find(who)
            made = TestClient(self.app, raise_server_exceptions=False, follow_redirects=True)
            made.get(f"/login?link={self.api.people.login_link(person.id)}")
            assert COOKIE in made.cookies
            self.browsers[who] = made
        return self.browsers[who]

    def get(self, path: str, who: str = "owner", **options: Any) -> Any:
        forget_frames()
        return self.browser(who).get(path, **options)

    def form(self, path: str, action: str, who: str = "owner") -> dict[str, str]:
        """The hidden fields of the form on a page that posts to this address."""
        text = self.get(path, who).text
        for found in re.finditer(r"<form[^>]*action=\"([^\"]*)\"[^>]*>(.*?)</form>", text, re.DOTALL):
            if found[1].partition("?")[0] == action:
                hidden = re.findall(r"<input type=\"hidden\" name=\"([^\"]*)\" value=\"([^\"]*)\"", found[2])
                return dict(hidden)
        raise AssertionError(f"{path} has no form for {action}")

    def send(
        self, path: str, action: str, fields: dict[str, Any] | None = None, who: str = "owner", **options: Any
    ) -> Any:
        """Fill the form in and send it, as somebody who looks at the page."""
        return self.browser(who).post(action, data={**self.form(path, action, who), **(fields or {})}, **options)
