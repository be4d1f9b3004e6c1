"""Auto-apply rules: which matches become applications, and why the others do not.

A rule is plain values (`ApplyRule`). `judge` compares one match with one rule and returns every check with its level:
`info` passed, `warn` passed with a doubt, `block` keeps the posting out. All checks run for every posting, so a log of
a posting that was not taken is as complete as that of one that was. `preview` does the same over stored matches.
Nothing here reads a database or the time: the same values give the same decision.
"""

from interlock.apps.jobs.autoapply.rules.criteria import ApplyRule, RuleError, check_rule
from interlock.apps.jobs.autoapply.rules.decision import Check, Decision, Level
from interlock.apps.jobs.autoapply.rules.judge import Candidate, judge
from interlock.apps.jobs.autoapply.rules.limits import Usage, Use, daily_limit, limit_checks, usage_of
from interlock.apps.jobs.autoapply.rules.preview import Preview, preview

__all__ = [
    "ApplyRule",
    "Candidate",
    "Check",
    "Decision",
    "Level",
    "Preview",
    "RuleError",
    "Usage",
    "Use",
    "check_rule",
    "daily_limit",
    "judge",
    "limit_checks",
    "preview",
    "usage_of",
]
