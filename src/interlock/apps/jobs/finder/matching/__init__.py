"""The match: how well a posting fits a profile, by rules, with every point explained.

The base is made of five parts (skills, title, seniority, location, salary), scaled to 100. A part without data gets its
neutral share, and `confidence` is the share of the weights that had data. Time zone and company size are then added,
and the sum is kept between 0 and 100. The points of parts and adjustments are whole numbers that sum up to the score.
The score does not change with time; `fresh` orders lists.
"""

from interlock.apps.jobs.finder.matching.result import Adjustment, MatchResult, ScorePart, WouldBe
from interlock.apps.jobs.finder.matching.score import fresh, match_posting

__all__ = ["Adjustment", "MatchResult", "ScorePart", "WouldBe", "fresh", "match_posting"]
