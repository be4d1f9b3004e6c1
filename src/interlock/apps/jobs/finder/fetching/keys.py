"""Keys of JSON APIs: a request names one, the configuration binds it to a host, and only that host gets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote, quote_plus

from interlock.apps.jobs.finder.fetching.errors import Forbidden
from interlock.apps.jobs.finder.fetching.guard import Target
from interlock.apps.jobs.finder.sources.answer import Answer, Request
from interlock.apps.jobs.finder.sources.paging import with_params
from interlock.apps.jobs.settings import ApiKey

HIDDEN = "***"
SHORTEST = 6
"""A shorter key is not looked for in answers: it would be found in many words."""


@dataclass(frozen=True, slots=True)
class Key:
    """The key of one request."""

    name: str
    bound: ApiKey
    raw: str | None = field(default=None, repr=False)
    """The key as the configuration has it, where a header carries it in another form."""

    def opens(self, target: Target) -> bool:
        """Whether the key may be sent there."""
        return target.authority == self.bound.host and (target.scheme == "https" or target.private)

    def header(self) -> dict[str, str]:
        if self.bound.place != "header":
            return {}
        return {self.bound.name: self.bound.sent}

    def path(self, target: Target) -> str:
        """The path and query to ask for."""
        if self.bound.place != "query":
            return target.path
        return with_params(target.path, {self.bound.name: self.bound.sent})

    def without(self, url: str) -> str:
        """The address without the key, which a redirect may have repeated."""
        named = f"{self.bound.name}="
        if self.bound.place == "query" and named in url:
            head, mark, query = url.partition("?")
            kept = [one for one in query.split("&") if not one.startswith(named)]
            url = head + (mark + "&".join(kept) if kept else "")
        return self.hide(url)

    def hide(self, text: str) -> str:
        """A text without the key."""
        for secret in self._secrets():
            text = _hide(text, secret)
        return text

    def _secrets(self) -> list[str]:
        return [self.bound.secret.get_secret_value(), *([self.raw] if self.raw else [])]

    def hidden(self, answer: Answer) -> Answer:
        """The answer without the key: answers are stored, and some APIs repeat it in the address of the next page."""
        body = answer.body
        for secret in self._secrets():
            if len(secret) >= SHORTEST:
                for form in _forms(secret):
                    body = body.replace(form.encode(), HIDDEN.encode())
        headers = {name: self.hide(value) for name, value in answer.headers.items()}
        return replace(answer, body=body, headers=headers, url=self.without(answer.url) if answer.url else None)


def key_of(request: Request, keys: Mapping[str, ApiKey], target: Target) -> Key | None:
    """The key that a request names. Raises Forbidden when there is none, or it is for another host."""
    name = request.note.get("api_key")
    if name is None:
        return None
    bound = keys.get(str(name).lower())
    if bound is None:
        raise Forbidden(f"the source wants the key {name!r}; add it as [jobs.api_keys.{name}] with its host")
    key = Key(str(name), bound)
    if target.authority != bound.host:
        raise Forbidden(f"the key {name!r} is for {bound.host}, not for {target.authority}; see [jobs] api_keys")
    if not key.opens(target):
        raise Forbidden(f"the key {name!r} is sent over https only; correct the source's address")
    return key


def _forms(secret: str) -> list[str]:
    return list(dict.fromkeys((secret, quote(secret, safe=""), quote_plus(secret))))


def _hide(text: str, secret: str) -> str:
    if len(secret) >= SHORTEST:
        for form in _forms(secret):
            text = text.replace(form, HIDDEN)
    return text
