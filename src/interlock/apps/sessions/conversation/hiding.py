"""Hides the secrets of one run in what is stored of it: keys of the agent, token and headers of the sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterable

from interlock.engine.secrets import HIDDEN, SHORTEST


class RunSecrets:
    """The secret values of one run. Others have no part in its process, so they are hidden for all by `secrets`."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        found = {value for value in values if len(value) >= SHORTEST}
        found |= {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for value in found for ascii_only in (True, False)}
        self._values = sorted(found, key=lambda one: (-len(one), one))
        """The longest first: one may be a part of another."""

    def hide(self, text: str) -> str:
        """The text without the values, also as JSON spells them."""
        for one in self._values:
            if one in text:
                text = text.replace(one, HIDDEN)
        return text
