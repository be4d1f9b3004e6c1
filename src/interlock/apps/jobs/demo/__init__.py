"""The demo's job seekers, employers and agents."""

from interlock.demo import Part


def claim_parts() -> list[Part]:
    """What needs no extra: agents that claim jobs."""
    from interlock.apps.jobs.demo.claims import CLAIMS

    return [CLAIMS]


def parts() -> list[Part]:
    """All parts. The finder's needs the extra `jobs`."""
    from interlock.apps.jobs.demo.applications import APPLICATIONS
    from interlock.apps.jobs.demo.finder import FINDER

    return [APPLICATIONS, FINDER, *claim_parts()]
