"""Repositories in the configuration: `[sessions.repos]`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from interlock.config import Table


def _name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}/[A-Za-z0-9][A-Za-z0-9._-]{0,99}", value):
        raise ValueError("must be owner/name, with letters, digits, ., - and _")
    return value


def _place(value: str) -> str:
    if not value.strip() or value.startswith("-") or not value.isprintable():
        raise ValueError("must be the path of a git repository, or its URL")
    if value.startswith(("ext::", "fd::")) or (
        re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", value) is None and "::" in value
    ):
        raise ValueError("must be a path or an https, ssh, git or file URL; other transports run programs")
    return value


RepoName = Annotated[str, AfterValidator(_name)]
RepositoryAddress = Annotated[str, AfterValidator(_place)]


class RepoConfig(Table):
    """A repository that sessions may work on."""

    url: RepositoryAddress = Field(description="The path of the repository, or its URL.")
    push: bool = Field(False, description="Whether people may push a session's branch to its `origin`.")
    merge: bool = Field(False, description="Whether people may merge a session's branch into its target branch.")


Repo = RepoConfig | RepositoryAddress


def config_of(repo: RepoConfig | str) -> RepoConfig:
    """The repository as a table; a text is its path or URL."""
    return RepoConfig(url=repo) if isinstance(repo, str) else repo
