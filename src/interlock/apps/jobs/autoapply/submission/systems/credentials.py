"""Keys of employers (`[jobs.autoapply.keys]`): each goes to its own host, and for the boards that it names."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from pydantic import SecretStr

from interlock.apps.jobs.finder.fetching.keys import Key
from interlock.apps.jobs.settings import ApiKey, EmployerKey, JobsSettings


@dataclass(frozen=True, slots=True)
class Credential:
    """An employer's key as its system wants it sent."""

    key: Key
    company_id: str | None = None


def credential_for(ats: str, label: str, board: str, authority: str, settings: JobsSettings) -> Credential | str:
    """The key for a board on a host; without one, the sentence that says why the application is sent by hand."""
    known = {name: one for name, one in settings.autoapply.keys.items() if one.system == ats}
    if not known:
        return f"{label} takes applications by program only with the employer's key ([jobs.autoapply.keys])"
    for_board = {name: one for name, one in known.items() if not one.boards or _is_named(board, one, ats)}
    if not for_board:
        return f"no key of [jobs.autoapply.keys] is for the board {board!r} of {label}"
    # A key that names the board comes before one for all boards.
    ordered = sorted(for_board.items(), key=lambda item: (not item[1].boards, item[0]))
    fitting = next(((name, one) for name, one in ordered if _host(one, ats, board) == authority), None)
    if fitting is None:
        name, one = ordered[0]
        return f"the key {name!r} is for {_host(one, ats, board)}, not for {authority}; set its host if that is right"
    name, one = fitting
    if ats == "personio" and one.company_id is None:
        return f"Personio wants the employer's id with the key {name!r}; add its company_id"
    return Credential(_key(name, one, authority), one.company_id)


def _is_named(board: str, one: EmployerKey, ats: str) -> bool:
    if ats == "ashby":  # its names are case-sensitive
        return board in one.boards
    return board.casefold() in {name.casefold() for name in one.boards}


def _host(one: EmployerKey, ats: str, board: str) -> str:
    if one.host is not None:
        return one.host
    own = {
        "greenhouse": "boards-api.greenhouse.io",
        "lever": "api.lever.co",
        "ashby": "api.ashbyhq.com",
        "smartrecruiters": "api.smartrecruiters.com",
        "workable": f"{board.lower()}.workable.com",
        "personio": "api.personio.de",
    }
    return own[ats]


def _key(name: str, one: EmployerKey, authority: str) -> Key:
    raw = one.secret.get_secret_value()
    match one.system:
        case "greenhouse" | "ashby":
            basic = base64.b64encode(f"{raw}:".encode()).decode("ascii")
            bound = ApiKey(host=authority, secret=SecretStr(basic), prefix="Basic ")
        case "lever":
            bound = ApiKey(host=authority, secret=one.secret, place="query", name="key")
        case "smartrecruiters":
            bound = ApiKey(host=authority, secret=one.secret, name="X-SmartToken")
        case _:
            bound = ApiKey(host=authority, secret=one.secret, prefix="Bearer ")
    return Key(name, bound, raw)
