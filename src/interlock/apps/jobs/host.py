"""What the job applications need of their host, for `interlock doctor`."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

from interlock.apps.jobs.finder.fetching.rendered import NAMES
from interlock.apps.jobs.settings import JobsSettings
from interlock.machine import HostCheck


def checks(settings: JobsSettings) -> list[HostCheck]:
    return [_browser(settings), _documents(), _keys(settings)]


def _browser(settings: JobsSettings) -> HostCheck:
    named = [str(settings.browser)] if settings.browser else [*NAMES]
    program = next((path for name in named if (path := shutil.which(name))), None)
    if program is not None and find_spec("playwright") is not None:
        return HostCheck("jobs: browser", f"found {program}")
    missing = "the library playwright" if program else f"a program ({', '.join(named)})"
    says = f"{missing} is missing; careers pages that scripts write are not read"
    return HostCheck("jobs: browser", says, "install Chromium, and: pip install 'interlock[browser]'")


def _documents() -> HostCheck:
    if find_spec("typst") is not None:
        return HostCheck("jobs: documents", "Typst is installed with its fonts")
    return HostCheck("jobs: documents", "not installed; no resume or letter is made", "pip install 'interlock[jobs]'")


def _keys(settings: JobsSettings) -> HostCheck:
    named = [*settings.autoapply.keys, *settings.api_keys]
    if named:
        return HostCheck("jobs: keys", ", ".join(named))
    return HostCheck(
        "jobs: keys",
        "none; boards that want an employer's key get their applications by hand",
        "set [jobs.autoapply.keys.NAME] with the key that an employer gave you",
    )
