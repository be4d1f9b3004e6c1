"""The demo's job seekers, employers and agents."""

from interlock.apps.jobs.demo.applications import APPLICATIONS
from interlock.apps.jobs.demo.claims import CLAIMS
from interlock.apps.jobs.demo.finder import FINDER
from interlock.demo import Part


def parts() -> list[Part]:
    return [APPLICATIONS, FINDER, CLAIMS]
