"""Systems that take applications by program, one module each: the address, the key and the shape of its requests."""

from collections.abc import Mapping

from interlock.apps.jobs.autoapply.submission.systems.ashby import Ashby
from interlock.apps.jobs.autoapply.submission.systems.greenhouse import Greenhouse
from interlock.apps.jobs.autoapply.submission.systems.lever import Lever
from interlock.apps.jobs.autoapply.submission.systems.personio import Personio
from interlock.apps.jobs.autoapply.submission.systems.recruitee import Recruitee
from interlock.apps.jobs.autoapply.submission.systems.smartrecruiters import SmartRecruiters
from interlock.apps.jobs.autoapply.submission.systems.system import System
from interlock.apps.jobs.autoapply.submission.systems.workable import Workable

BY_PROGRAM: Mapping[str, type[System]] = {
    one.name: one for one in (Ashby, Greenhouse, Lever, Personio, Recruitee, SmartRecruiters, Workable)
}

__all__ = ["BY_PROGRAM", "System"]
