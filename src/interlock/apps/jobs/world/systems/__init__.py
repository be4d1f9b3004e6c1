"""The applicant tracking systems as the world plays them: one module for each wire shape."""

from interlock.apps.jobs.world.systems.ashby import Ashby
from interlock.apps.jobs.world.systems.bamboohr import BambooHR
from interlock.apps.jobs.world.systems.greenhouse import Greenhouse
from interlock.apps.jobs.world.systems.jobvite import Jobvite
from interlock.apps.jobs.world.systems.lever import Lever
from interlock.apps.jobs.world.systems.personio import Personio
from interlock.apps.jobs.world.systems.recruitee import Recruitee
from interlock.apps.jobs.world.systems.smartrecruiters import SmartRecruiters
from interlock.apps.jobs.world.systems.system import System
from interlock.apps.jobs.world.systems.teamtailor import Teamtailor
from interlock.apps.jobs.world.systems.workable import Workable
from interlock.apps.jobs.world.systems.workday import Workday

SYSTEMS: dict[str, System] = {
    one.kind: one
    for one in (
        Greenhouse(),
        Lever(),
        Ashby(),
        Workday(),
        Recruitee(),
        SmartRecruiters(),
        Workable(),
        Personio(),
        Teamtailor(),
        BambooHR(),
        Jobvite(),
    )
}
"""Kind → what plays it."""

__all__ = ["SYSTEMS", "System"]
